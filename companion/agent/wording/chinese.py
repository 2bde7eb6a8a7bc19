"""Our sentences for people in Chinese: by the English template, with the same {names}."""

from __future__ import annotations

from typing import Mapping

CHINESE_SENTENCES: Mapping[str, str] = {
    # Of a turn and its calls of tools.
    "{tool} waits for a decision...": "等待确认 {tool}...",
    "Running {tool}...": "正在执行 {tool}...",
    "{tool} is done": "{tool} 执行完成",
    "{tool} failed": "{tool} 执行失败",
    "{tool} was not allowed to run": "{tool} 未获允许，没有执行",
    "The turn is complete.": "对话完成",
    "The agent gave an answer that cannot be read.": "代理给出的回答无法读取",
    "The turn was cancelled.": "对话已取消",
    "The conversation has reached the model's limit of tokens.": "已达到最大令牌数",
    "The turn had too many requests, or went in a loop.": "请求次数过多，或检测到循环",
    "The model said nothing; its answer may have been blocked.": "模型没有返回内容，可能已被拦截",
    "{cli} takes no images.": "{cli} 不接受图片",
    "{cli} cannot open its sessions again: after a restart, its model is given the text of this"
    " conversation to read.": "{cli} 无法重新打开会话：重启后，模型会读到本会话的文字",
    "Read {subject}.": "已读取 {subject}",
    "Read several files.": "已读取多个文件",
    "Listed {subject}.": "已列出 {subject}",
    "Looked for {subject}.": "已查找 {subject}",
    "Searched for {subject}.": "已搜索 {subject}",
    "Wrote {subject}.": "已写入 {subject}",
    "Changed {subject}.": "已修改 {subject}",
    "Ran {subject} without output.": "已执行 {subject}，没有输出",
    "Fetched {subject}.": "已获取 {subject}",
    "Searched the web for {subject}.": "已在网上搜索 {subject}",
    "Remembered it.": "已记住",
    "{path} ({before} -> {after} lines)": "{path}（{before} -> {after} 行）",
    "The tool call {tool} needs a confirmation.": "需要确认工具调用: {tool}",
    "Run the tool {tool}?": "是否执行工具调用: {tool}",
    "Allow once": "允许一次",
    "Allow for this conversation": "在本会话中允许",
    "Allow all tools of the server for this conversation": "在本会话中允许此服务器的所有工具",
    "Allow the tool for this conversation": "在本会话中允许此工具",
    "Allow edits of this file for this conversation": "在本会话中允许修改此文件",
    "Allow edits of these files for this conversation": "在本会话中允许修改这些文件",
    "Allow edits of all files in {folder} for this conversation": (
        "在本会话中允许修改 {folder} 中的所有文件"
    ),
    "the workspace": "工作区",
    "Allow exactly this command for this conversation": "在本会话中仅允许这一条命令",
    "Allow exactly this call for this conversation": "在本会话中仅允许这一调用",
    "Edit": "编辑",
    "{count} blank lines": "{count} 个空行",
    "{count} spaces": "{count} 个空格",
    "{count} spaces and tabs": "{count} 个空格和制表符",
    "Reject": "拒绝",
    "It failed.": "执行失败。",
    "Your rule {rule} denies it.": "您的规则 {rule} 禁止此操作。",
    "{path} was not written: a rule of the user denies it.": (
        "{path} 未写入：用户的规则禁止此操作。"
    ),
    "Rejected by the user.": "用户已拒绝。",
    "call": "调用",
    "said": "说明",
    "The agent has changed what it asks since then. Look at it again, and decide.": (
        "此后代理已更改其询问的内容。请重新查看后再作决定。"
    ),
    "The agent has changed what it asks. Expected the revision of the question that is meant.": (
        "代理已更改其询问的内容。需要提供所决定的询问的 revision。"
    ),
    "The agent took its question back.": "代理已撤回其询问。",
    "Nobody decided on it within {seconds} seconds (--decision-time), so it was rejected.": (
        "{seconds} 秒内（--decision-time）未作出决定，因此已被拒绝。"
    ),
    "It needs a confirmation and nobody could be asked, so it was rejected.": (
        "此调用需要确认，但无人可以确认，因此已被拒绝。"
    ),
    "The turn ended before the tool did.": "对话在工具执行完之前已结束。",
    "{path} is not shared with agents: the user's settings exclude it.": (
        "用户的设置不允许与代理共享 {path}"
    ),
    "{path} is too large to be read in this way.": "{path} 过大，无法以这种方式读取",
    "{path} cannot be read: {reason}.": "无法读取 {path}：{reason}",
    "{path} could not be saved. The text is in its tab in the user's editor, and not on disk.": (
        "无法保存 {path}。文本在用户编辑器的标签页中，尚未写入磁盘。"
    ),
    "{path} is open in the user's editor with changes that are not saved, so nothing was written."
    " Ask the user to save them, then read the file again.": (
        "{path} 在用户的编辑器中有未保存的更改，因此没有写入任何内容。"
        "请让用户先保存，再重新读取该文件。"
    ),
    "{path} has changed since the user was asked about this edit, so nothing was written. Read the"
    " file again before you edit it.": (
        "在询问用户之后 {path} 已被更改，因此没有写入任何内容。请先重新读取该文件再编辑。"
    ),
    "The user refused your edit of {path}, so it is as it was.": (
        "用户拒绝了对 {path} 的编辑，该文件保持原样。"
    ),
    "The turn was cancelled, so nothing was written.": "对话已取消，因此没有写入任何内容。",
    "{path} cannot be written: {reason}.": "无法写入 {path}：{reason}。",
    "the disk does not answer": "磁盘没有响应",
    "something went wrong": "出现错误",
    "Nothing was written; something went wrong.": "出现错误，没有写入任何内容。",
    "The model cannot be reached: attempt {attempt} failed, and it is asked again.": (
        "无法连接到模型：第 {attempt} 次请求失败，正在重试。"
    ),
    "The model did not answer attempt {attempt}; it is asked again.": (
        "模型没有回应第 {attempt} 次请求，正在重试。"
    ),
    "The model did not answer attempt {attempt} (status {status}); it is asked again.": (
        "模型没有回应第 {attempt} 次请求（状态 {status}），正在重试。"
    ),
    "Something went wrong; see the log.": "出现错误，请查看日志。",
    "The turn took longer than {seconds} seconds (--turn-time).": (
        "对话超过了 {seconds} 秒（--turn-time）。"
    ),
    # Of decisions.
    "This subagent cannot be stopped any more.": "这个子代理已经无法停止。",
    "No call {call} waits for a decision.": "没有等待确认的工具调用：{call}",
    "Expected one of {expected}; got {got}.": "应为以下之一：{expected}；收到的是 {got}。",
    "Expected one of {expected} for this call.": "此调用只支持以下结果之一：{expected}。",
    "Expected newContent with {outcome}, and only with it.": (
        "仅当结果为 {outcome} 时需要 newContent。"
    ),
    "Only an edit of a file can be changed.": "只有对文件的编辑才能修改。",
    "The user changed your edit of {path} before it was written, so your own text was refused, and"
    " theirs was written. In the place of your text, the file now holds what follows. Go on from"
    " there, and do not write your own text again.\n{text}": (
        "用户在写入前修改了对 {path} 的编辑：原来的内容被拒绝，写入的是用户的内容。文件在该处现为"
        "以下内容。请由此继续，不要再次写入原来的内容。\n{text}"
    ),
    "{path} is not in UTF-8, so only the agent's own text could be written.": (
        "{path} 不是 UTF-8 编码，因此只能写入代理自己的内容。"
    ),
    "{path} does not hold what the agent reports. What it holds instead is shown as an edit that"
    " nobody was asked about.": ("{path} 的内容与代理报告的不同。实际内容作为未经询问的编辑显示。"),
    # Of conversations.
    "Expected the nextCursor of another page as cursor.": "cursor 应为另一页的 nextCursor。",
    "Untitled conversation": "未命名会话",
    "There is no conversation {session}.": "会话不存在：{session}",
    "A later release has written the conversation {session}; update this one to use it.": (
        "会话 {session} 由更新的版本写入；请升级后再使用"
    ),
    "Expected the absolute path of a folder as workspace; got {got}.": (
        "工作目录应为已存在目录的绝对路径；收到的是 {got}。"
    ),
    "A message is being answered; cancel it first.": "正在回答一条消息，请先取消。",
    "The conversation is busy with another message.": "会话正在处理另一条消息。",
    "Another server is working on this conversation. Try again when it is done, or name the"
    " conversation in the header Session-Id so that requests reach that server.": (
        "另一台服务器正在处理此会话。请等它完成后重试，"
        "或在请求头 Session-Id 中写明会话，以便请求到达那台服务器。"
    ),
    "The conversation cannot be read.": "无法读取会话。",
    "The conversation cannot be deleted: {reason}.": "无法删除会话：{reason}。",
    "The conversation has no session.": "会话尚未建立。",
    "The conversation is full; begin a new one.": "会话已满，请开始新会话。",
    "{cli} goes on in a new session: it was given the text of the conversation to read.": (
        "{cli} 在新会话中继续；已把会话文本交给它阅读。"
    ),
    "The server ended before this turn did.": "服务器在此对话结束之前已停止。",
    "The model {name} is no longer used, because the agent refused it: {reason}": (
        "不再使用模型 {name}，因为 CLI 拒绝了它：{reason}"
    ),
    "The mode {name} is no longer used, because the agent refused it: {reason}": (
        "不再使用模式 {name}，因为 CLI 拒绝了它：{reason}"
    ),
    "{cli} is not used: it did not take its mode {mode}, in which it asks before it writes.": (
        "未使用 {cli}：它没有接受写入前会先询问的模式 {mode}。"
    ),
    "{program} {version} is newer than {tested}, the newest version that was tested with this: it"
    " may ask and act in other ways.": (
        "{program} {version} 比经过测试的最新版本 {tested} 更新：它的询问和行为可能有所不同。"
    ),
    "The agent has no option {got}; it has {known}.": "CLI 没有选项 {got}；可用选项：{known}。",
    "No message {message} waits in this conversation.": "此会话中没有等待发送的消息 {message}。",
    "The message is being sent.": "该消息正在发送。",
    "The messages that wait are too many or too long; at most {count} with {characters}"
    " characters in all.": "等待发送的消息过多或过长；最多 {count} 条，合计 {characters} 个字符。",
    "No question {question} waits for an answer.": "没有等待回答的问题 {question}。",
    "The form has no field {name}.": "表单中没有字段 {name}。",
    "The form needs the field {name}.": "表单缺少字段 {name}。",
    "The form does not take this value of {name}.": "表单不接受字段 {name} 的这个值。",
    "The choice {name} is no longer used, because the agent refused it: {reason}": (
        "不再使用选项 {name}，因为 CLI 拒绝了它：{reason}"
    ),
    "The disk refuses to store what is said here. Unless it does so later, it will be missing"
    " after a restart.": "无法把此会话写入磁盘；若之后仍无法写入，重启后其内容将会丢失。",
    "The folder of this conversation is no longer known; begin a new one.": (
        "此会话的工作目录已无法得知，请新建一个会话。"
    ),
    "Some of this turn could not be read from the disk.": "此次对话的部分内容无法从磁盘读取。",
    # Of messages.
    "The message is empty.": "消息为空。",
    "{command} is a command of the Gemini CLI that would run without asking.": (
        "{command} 是 Gemini CLI 的命令，会不经询问直接执行。"
    ),
    "There is no file {path}.": "文件不存在：{path}",
    "{path} is neither a file nor a folder.": "{path} 既不是文件也不是目录。",
    # Of logins.
    "No credentials are configured for {cli}.": "尚未设置 {cli} 的认证配置。",
    '{cli} uses its user\'s own login, as "own_login" under "agents" in the settings says.': (
        "{cli} 使用用户自己的登录，因为设置中 “agents” 下的 “own_login” 如此规定。"
    ),
    '{cli} does not use its user\'s own login, as "own_login" under "agents" in the settings'
    " says.": "{cli} 不使用用户自己的登录，因为设置中 “agents” 下的 “own_login” 如此规定。",
    "The credentials cannot be saved: {reason}.": "无法保存认证配置：{reason}。",
    "Configure the kind of login {kind} first.": "请先配置登录方式 {kind}。",
    "No login waits for a code.": "没有等待授权码的登录。",
    "No login waits for a code; begin one first.": "没有等待授权码的登录，请先开始登录。",
    "Expected text without control characters.": "文本不能含有控制字符。",
    "{cli} asks for a login of its own, and offers: {methods}. Log in with it in a terminal, and"
    " send the message again.": (
        "{cli} 要求自己的登录方式，提供：{methods}。请在终端中登录，然后重新发送消息。"
    ),
    "{cli} asks for a login of its own. Log in with it in a terminal, and send the message"
    " again.": ("{cli} 要求自己的登录方式。请在终端中登录，然后重新发送消息。"),
    '{cli} has no login in your terminal yet: run "{command}" there, and send the message again.': (
        "{cli} 在您的终端中尚未登录：请在终端中运行“{command}”，然后重新发送消息。"
    ),
    'The login that {cli} has in your terminal was refused: "{said}" Run "{command}" there to'
    " change it, and send the message again.": (
        "{cli} 在您的终端中的登录被拒绝：“{said}”。请在终端中运行“{command}”更改登录，"
        "然后重新发送消息。"
    ),
    "{cli} does not list its sessions.": "{cli} 不列出其会话。",
    "{cli} does not open sessions again.": "{cli} 不能重新打开会话。",
    "{cli} needs a login before it opens the session: begin a chat with it, which says how.": (
        "{cli} 需要先登录才能打开会话：请与它开始聊天，其中会说明如何登录。"
    ),
    "This session is a conversation here already.": "此会话在这里已是一个对话。",
    "What is above was said in a terminal; the conversation goes on here.": (
        "以上内容是在终端中说的；对话在这里继续。"
    ),
    "This conversation was begun in a terminal. What was said there is known to the agent, and is"
    " not shown here.": "此对话始于终端。代理知道在那里所说的内容，此处不显示。",
    "The agent has sent more images, links and texts in this turn; they are not shown.": (
        "代理在此轮中还发送了更多图片、链接和文本，未予显示。"
    ),
    "What was said in the terminal before the message above is known to the agent, and is not shown"
    " here.": "代理知道上面这条消息之前在终端中所说的内容，此处不显示。",
    "Only the user of this computer can choose their own login for {cli}, in the editor.": (
        "只有这台电脑的用户才能在编辑器中为 {cli} 选择使用自己的登录。"
    ),
    "Expected the command of an agent; got {got}.": "应为代理的启动命令；收到的是 {got}。",
    "An API key is needed for this kind of login.": "此登录方式需要 API 密钥。",
    "Vertex AI needs an API key, or a project and a location.": (
        "Vertex AI 需要 API 密钥，或者项目和区域。"
    ),
    "The login was cancelled.": "登录已取消。",
    "{cli} has no login with Google.": "{cli} 没有 Google 登录。",
    "This conversation belongs to {cli}; begin another one for another agent.": (
        "该会话属于 {cli}；如需其他代理，请新建会话。"
    ),
    "This server does not offer the agent {got}; it offers {offered}.": (
        "该服务器不提供代理 {got}；可用的代理：{offered}。"
    ),
    "Files in {encoding} cannot be written here.": "无法写入编码为 {encoding} 的文件。",
    "The Gemini CLI did not say where to log in.": "Gemini CLI 没有给出登录地址。",
    "Expected the code that Google showed, in one line.": "请提供 Google 显示的授权码，不含换行。",
    "Google did not answer.": "Google 没有响应。",
    "Google cannot be reached.": "无法连接到 Google。",
    "Google did not accept the code.": "Google 没有接受此授权码。",
    "Nobody has logged in with Google yet.": "尚未使用 Google 登录。",
    "The login with Google has expired.": "Google 登录已过期。",
    # Of attachments and tool servers.
    "A conversation has at most {count} attachments with {size} bytes in all.": (
        "每个会话最多可有 {count} 个附件，总计不超过 {size} 字节。"
    ),
    "The attachments of a message have at most {n} bytes.": "一条消息的附件总计不能超过 {n} 字节。",
    "The agent does not accept {type}, the type of {name}.": (
        "代理不接受 {type} 类型的附件 {name}。"
    ),
    "Expected the content of an attachment to be one of {types}; this file has other content.": (
        "附件的内容必须是以下类型之一：{types}。"
    ),
    "There is no attachment {id}.": "没有附件 {id}。",
    "Expected attachments together with the sessionId of their conversation.": (
        "附件必须与所属会话的 sessionId 一起使用。"
    ),
    "Expected each tool server once; {name} is given twice.": "工具服务器 {name} 重复。",
    "This agent cannot use tool servers over HTTP, such as {name}.": (
        "代理不支持通过 HTTP 连接工具服务器 {name}。"
    ),
    "The agent does not get the folder {path} of the window. {reason}": (
        "代理得不到窗口中的文件夹 {path}。{reason}"
    ),
    "It is not trusted, as the workspace is.": "它不像工作区那样受信任。",
    "There are too many terminals; release some.": "终端太多，请先释放一些",
    "There is no terminal {got}.": "没有终端 {got}",
    "There are no terminals on this system.": "此系统上没有终端",
    "Only the user of the editor can allow a command in a terminal.": (
        "只有编辑器的用户可以允许终端中的命令"
    ),
    "Expected the absolute path of a folder as cwd; got {got}.": (
        "cwd 应为文件夹的绝对路径，实际为 {got}"
    ),
    "The command was not run: a rule of the user denies it.": "命令未执行：用户的规则禁止它",
    "The command cannot be started: {reason}.": "无法启动命令：{reason}",
    "Nothing was run; something went wrong.": "没有执行任何命令，出了问题",
    "The turn is over, so nothing is run.": "对话轮次已结束，不再执行命令",
    "It ended with code {code}.": "退出代码 {code}",
    "It was ended by {signal}.": "被信号 {signal} 终止",
    "The tool servers of the conversation did not start within {seconds} seconds.": (
        "会话的工具服务器未能在 {seconds} 秒内启动。"
    ),
    "{cli} starts tool servers in trusted workspaces only; start the server with --trust to trust"
    " them.": "{cli} 只在受信任的工作区中启动工具服务器；请使用 --trust 启动服务器。",
    "{path} has plugins of opencode, which would run as soon as it is opened. To trust"
    ' them, name your folder in "trusted_folders" in the settings of the editor, or start the'
    " server with --trust.": (
        "{path} 中有 opencode 插件，一打开就会运行。如果信任它们，请在编辑器设置的"
        ' "trusted_folders" 中写上您的文件夹，或使用 --trust 启动服务器。'
    ),
    "{path} may name or allow commands, which Codex would run unasked. To trust"
    ' them, name your folder in "trusted_folders" in the settings of the editor, or start the'
    " server with --trust.": (
        "{path} 可能指定或允许命令，Codex 会不经询问就运行。如果信任它们，请在编辑器设置的"
        ' "trusted_folders" 中写上您的文件夹，或使用 --trust 启动服务器。'
    ),
    "The settings of git in {path} have {key}, which may name a program that git starts as soon as"
    ' {cli} opens the folder. To trust them, name your folder in "trusted_folders" in the settings'
    " of the editor, or start the server with --trust.": (
        "{path} 中的 git 设置含有 {key}，它可能指定了程序，{cli} 一打开该文件夹 git 就会启动它。"
        '如果信任它们，请在编辑器设置的 "trusted_folders" 中写上您的文件夹，'
        "或使用 --trust 启动服务器。"
    ),
    "{path} is a device or a pipe and no file, and {cli} may read it as soon as it opens the"
    " folder. Remove it first.": (
        "{path} 是设备或管道，不是文件，而 {cli} 可能一打开该文件夹就读取它。请先将其删除。"
    ),
    "git did not tell its settings in {path} within {seconds} seconds.": (
        "git 没有在 {seconds} 秒内给出它在 {path} 中的设置。"
    ),
    "Two agents would have the id {id}; leave one of them out.": (
        "两个代理的标识都会是 {id}；请去掉其中一个。"
    ),
    # Of the CLI's process.
    "The model cannot be reached, or the connection broke off.": "无法连接到模型，或连接已中断。",
    "Node.js 20 or newer is needed and was not found.": "需要 Node.js 20 或更高版本，但没有找到。",
    '{cli} was not found as "{words}". Install it with "{install}", or write its full path as its'
    ' "command" under "agents" in the settings. Doctor shows the folders that were searched.': (
        "找不到 {cli}（{words}）；请用 {install} 安装，或在设置 agents 的 command 中写出完整路径。"
        "Doctor 会显示搜索过的目录。"
    ),
    '{cli} was not found. Install it, or write its full path as its "command" under "agents" in the'
    " settings. Doctor shows the folders that were searched.": (
        "找不到 {cli}；请先安装，或在设置 agents 的 command 中写出完整路径。"
        "Doctor 会显示搜索过的目录。"
    ),
    "{cli} cannot be started: {path} is there, and is not executable.": (
        "无法启动 {cli}：{path} 存在，但不可执行。"
    ),
    "{cli} was not found in {place}.": "在 {place} 中找不到 {cli}。",
    "Other users can read the folder of {cli}.": "其他用户可以读取 {cli} 的目录。",
    "{cli} cannot be started: {reason}.": "无法启动 {cli}：{reason}。",
    "{cli} was ended while it started.": "{cli} 在启动过程中被结束。",
    "The message was cancelled before it was sent.": "消息在发送前已被取消。",
    "{cli} speaks version 2 of its protocol: it reads and writes files and runs commands by itself,"
    " so it does not see what is not saved, and a tab with unsaved changes keeps its text.": (
        "{cli} 使用其协议的第 2 版：它自行读写文件和运行命令，因此看不到未保存的内容，"
        "有未保存更改的标签页保持原样。"
    ),
    "{cli} ended unexpectedly.": "{cli} 意外退出。",
    "{cli} does not speak the Agent Client Protocol: it wrote {count} lines of something else."
    " Check whether its command is the right one.": (
        "{cli} 没有使用 Agent Client Protocol：它输出了 {count} 行其他内容。请检查其命令是否正确。"
    ),
    "{cli} did not answer within {seconds} seconds ({method}).": (
        "{cli} 在 {seconds} 秒内没有响应（{method}）。"
    ),
    "Expected version {expected} of the Agent Client Protocol; {cli} has {got}.": (
        "需要 Agent Client Protocol 的版本 {expected}；{cli} 的版本是 {got}。"
    ),
}
