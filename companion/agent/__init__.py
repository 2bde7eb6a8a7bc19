"""The engine: Gemini CLI and other agents, which programs can talk to.

It runs them, such as `gemini --acp`, in homes of its own or, with the user's own login, in the
user's, and speaks the Agent Client Protocol with them. Its input are messages, decisions and
credentials; its output are frozen events. It knows no editor and no HTTP.

The modules beside the folders are what other rooms may import: `agent` has the operations and
`engine` the thread of an editor's agent, `turn_events` what happens, `failure` what can go wrong.
The folders are the inside.
"""
