"""All texts that the API says to people, in Chinese, as its specification has them, and in
English."""

from __future__ import annotations

from typing import Mapping

from ...agent.sentence import CHINESE, ENGLISH

# By key: the Chinese text, then the English one. {names} are filled in.
TEXTS: Mapping[str, tuple[str, str]] = {
    # Successes.
    "running": ("服务器运行正常", "The server is running."),
    "ready": ("服务器已就绪", "The server is ready."),
    "auth_configured": ("认证配置已设置", "The credentials are set."),
    "auth_told": ("认证状态查询成功", "This is the state of the login."),
    "login_begun": (
        "请在浏览器中打开 authUrl 完成登录，然后提交授权码",
        "Open authUrl in a browser, log in, and send the code that is shown there.",
    ),
    "logged_in": ("Google 登录成功", "You are logged in with Google."),
    "logged_out": ("登出成功", "You are logged out."),
    "auth_cleared": ("认证配置已清除", "The credentials are deleted."),
    "chat_done": ("对话完成", "The turn is complete."),
    "chat_cancelled": ("对话已取消", "The turn was cancelled."),
    "chat_max_tokens": (
        "已达到最大令牌数",
        "The conversation has reached the model's limit of tokens.",
    ),
    "chat_max_requests": (
        "请求次数过多，或检测到循环",
        "The turn made too many requests, or repeated itself.",
    ),
    "chat_empty": (
        "模型没有返回内容，可能已被拦截",
        "The model said nothing; its answer may have been blocked.",
    ),
    "tools_rejected": (
        "需要确认的工具调用已被拒绝；请使用 stream 或 confirm",
        "Tool calls that needed a decision were rejected; set stream or confirm to decide.",
    ),
    "tool_confirmed": ("工具调用已确认", "The tool call is confirmed."),
    "tool_rejected": ("工具调用已取消", "The tool call is rejected."),
    "confirmations_told": ("待确认工具调用查询成功", "These tool calls wait for a decision."),
    "elicitations_told": ("待回答问题查询成功", "These questions wait for an answer."),
    "elicitation_answered": ("问题已回答", "The question is answered."),
    "cancelled": ("已取消 {count} 个对话", "Turns cancelled: {count}."),
    "subagent_stopped": ("子代理正在停止", "The subagent is being stopped."),
    "sessions_told": ("会话列表查询成功", "These are the conversations."),
    "session_made": ("新会话已创建", "The conversation is created."),
    "session_told": ("会话查询成功", "This is the conversation."),
    "session_exported": ("会话已导出", "This is all that was said."),
    "session_forked": ("会话已复制", "The conversation is copied."),
    "sessions_removed": ("已删除会话数：{count}", "Conversations deleted: {count}."),
    "session_changed": ("会话已更新", "The conversation is changed."),
    "session_removed": ("会话已删除", "The conversation is deleted."),
    "messages_told": ("会话记录查询成功", "These are the messages of the conversation."),
    "agents_told": ("代理列表查询成功", "These are the agents."),
    "commands_told": ("命令列表查询成功", "These are the commands that the agent offers."),
    "queue_told": ("待发送消息查询成功", "These messages wait."),
    "state_told": ("会话状态查询成功", "This is what the agent has told."),
    "option_chosen": ("选项已更改", "The option is changed."),
    "attachment_added": ("附件已上传", "The attachment is stored."),
    "attachments_told": ("附件列表查询成功", "These are the attachments of the conversation."),
    "attachment_removed": ("附件已删除", "The attachment is deleted."),
    "turn_files_told": ("文件变更查询成功", "These are the files that the turn changed."),
    "turn_undone": (
        "该轮对话的文件变更已撤销",
        "The files are restored to what they were before the turn.",
    ),
    "turn_undone_partly": (
        "部分文件未撤销，请查看 state",
        "Some files were not restored; the state of each says why.",
    ),
    "models_told": ("模型列表查询成功", "These are the models."),
    "model_chosen": ("模型已切换为 {model}", "The model is now {model}."),
    "directory_listed": ("目录列表查询成功", "These are the contents of the folder."),
    "directory_cut": (
        "目录项过多，仅返回前 {count} 项",
        "The folder has more than these {count} entries.",
    ),
    "file_read": ("文件读取成功", "The file is read."),
    "file_written": ("文件写入成功", "The file is written."),
    "command_done": ("命令执行完成", "The command has ended."),
    "command_late": (
        "命令超过 {seconds} 秒，已被终止",
        "The command took longer than {seconds} seconds and was ended.",
    ),
    "command_cut": ("命令输出过长，已被截断", "The command wrote more than this answer contains."),
    # Errors, by the code of the refusal.
    "VALIDATION_ERROR": ("请求参数错误：{reason}", "{reason}"),
    "field_missing": ("请求参数错误：缺少字段 {field}", "The field {field} is missing."),
    "field_type": (
        "请求参数错误：字段 {field} 的类型应为 {expected}",
        "Expected the field {field} to be of type {expected}.",
    ),
    "field_short": ("请求参数错误：字段 {field} 不能为空", "The field {field} is empty."),
    "field_long": (
        "请求参数错误：字段 {field} 超过 {limit} 个字符",
        "Expected at most {limit} characters in the field {field}.",
    ),
    "field_many": (
        "请求参数错误：字段 {field} 超过 {limit} 项",
        "Expected at most {limit} items in the field {field}.",
    ),
    "field_value": (
        "请求参数错误：字段 {field} 必须是以下之一：{expected}",
        "Expected the field {field} to be one of {expected}.",
    ),
    "field_number": (
        "请求参数错误：字段 {field} 必须在 {low} 和 {high} 之间",
        "Expected the field {field} to be between {low} and {high}.",
    ),
    "field_letters": (
        "请求参数错误：字段 {field} 含有不允许的字符",
        "The field {field} contains characters that are not allowed.",
    ),
    "key_wrong": (
        "请求参数错误：{field} 须为 1 到 {limit} 个可见 ASCII 字符，不含空格；收到 {size} 个",
        "Expected 1 to {limit} visible characters of ASCII without blanks as {field}; got {size}"
        " characters.",
    ),
    "field_twice": ("请求参数错误：字段 {field} 重复", "The field {field} was given twice."),
    "body_no_object": (
        "请求参数错误：请求体必须是 JSON 对象",
        "Expected the body to be a JSON object.",
    ),
    "body_no_json": (
        "请求参数错误：请求体不是有效的 JSON",
        "Expected the body to be JSON.",
    ),
    "body_no_json_at": (
        "请求参数错误：请求体从第 {line} 行第 {column} 列起不是有效的 JSON",
        "Expected the body to be JSON; the first error is at line {line}, column {column}.",
    ),
    "body_no_utf8": (
        "请求参数错误：请求体不是有效的 UTF-8 文本",
        "Expected the body to be valid text in UTF-8.",
    ),
    "body_deep": (
        "请求参数错误：请求体的 JSON 嵌套过深",
        "Expected JSON with fewer nested levels.",
    ),
    "no_multipart": (
        "请求的 Content-Type 必须是 multipart/form-data",
        "Expected Content-Type: multipart/form-data, and no Content-Encoding.",
    ),
    "upload_no_form": (
        "请求体不是有效的 multipart/form-data",
        "Expected a valid form (multipart/form-data) with a boundary.",
    ),
    "upload_long_head": (
        "表单中每个成员的头部最多 {limit} 字节，收到 {size} 字节",
        "Expected at most {limit} bytes in the head of each member of the form, got {size}.",
    ),
    "upload_no_file": (
        "表单必须恰好包含一个名为 {field} 的文件",
        "Expected a form with exactly one file, in the member {field}.",
    ),
    "upload_empty": ("文件为空", "The file is empty."),
    "no_http": ("请求不是有效的 HTTP/1.1", "Expected a request of HTTP/1.1."),
    "UNAUTHORIZED": (
        "缺少或无效的访问令牌",
        "Expected Authorization: Bearer and the token from the server's token file.",
    ),
    "READ_ONLY": (
        "此令牌只能读取会话、消息、事件和状态",
        "This token can only read conversations, events and status. Use the server's full token.",
    ),
    "IDEMPOTENCY_MISMATCH": (
        "{field} 已用于另一个请求",
        "The {field} was used for another request.",
    ),
    "IDEMPOTENCY_LOST": (
        "使用此 {field} 的请求已开始，但其回答未保留；请查看会话，或使用新的键",
        "A request with this {field} was begun, but its answer is not kept. Look at the"
        " conversation, or do it again with another key.",
    ),
    "SCOPE_MISSING": (
        "此令牌缺少权限 {scope}",
        "This token lacks the scope {scope}.",
    ),
    "command_scope": (
        "{command} 是 {cli} 自己的命令，需要权限 {scope}；要作为文字发送，请不要以 / 开头",
        "{command} is a command of {cli}, which needs the scope {scope}. To send it as text, let"
        " the message begin with another character than a slash.",
    ),
    "TOKEN_NOT_FOUND": ("没有名为 {name} 的令牌", "There is no token with the name {name}."),
    "TOKEN_EXISTS": (
        "名为 {name} 的令牌已存在，或令牌已达 {limit} 个",
        "There is a token with the name {name}, or there are {limit} tokens.",
    ),
    "tokens_told": ("令牌列表查询成功", "These are the named tokens."),
    "token_given": (
        "令牌已创建；它不会再次显示",
        "The token is made. It is shown only this once.",
    ),
    "token_renewed": (
        "令牌已更新，旧令牌不再有效",
        "The token is renewed, and the old one no longer works.",
    ),
    "token_withdrawn": ("令牌已撤销", "The token no longer works."),
    "ticket_given": ("票据已创建，仅可使用一次", "The ticket works once."),
    "RATE_LIMITED": (
        "请求过于频繁：每分钟最多 {limit} 次，请在 {seconds} 秒后重试",
        "Expected at most {limit} requests a minute; try again in {seconds} seconds.",
    ),
    "host_refused": (
        "不允许的 Host",
        "Expected a Host header with this server's loopback name, or with a name that the server"
        " was started with.",
    ),
    "origin_refused": (
        "不允许的 Origin",
        "Expected no Origin header, or an origin that this server was started with.",
    ),
    "NOT_FOUND": ("资源不存在：{path}", "There is nothing at {path}."),
    "metrics_missing": (
        "未安装 prometheus_client，因此没有指标",
        "There are no metrics: the server's Python lacks the library prometheus_client.",
    ),
    "METHOD_NOT_ALLOWED": (
        "不支持的请求方法，允许的方法：{allowed}",
        "Expected one of the methods {allowed}.",
    ),
    "UNSUPPORTED_MEDIA_TYPE": (
        "请求的 Content-Type 必须是 application/json",
        "Expected Content-Type: application/json, and no Content-Encoding.",
    ),
    "TOO_LARGE": ("请求体超过 {limit} 字节", "Expected a body of at most {limit} bytes."),
    "TIMED_OUT": ("请求超时：{reason}", "{reason}"),
    "REQUEST_TIMEOUT": (
        "请求体未在 {seconds} 秒内到达",
        "Expected the whole body within {seconds} seconds.",
    ),
    "many_values": (
        "请求体中的值过多",
        "Expected a body with fewer separate values.",
    ),
    "small_chunks": (
        "请求体的分块过小或尾部字段过多",
        "Expected a body in larger chunks, with few trailers.",
    ),
    "busy": (
        "正在处理的大型请求过多，请稍后重试",
        "The server is busy with large requests; try again later.",
    ),
    "TOO_MANY": ("连接过多", "Too many connections are open; close some."),
    "own_connections": (
        "此令牌的连接过多",
        "Too many connections of this token are open; close some.",
    ),
    "DRAINING": (
        "服务器正在关闭，不再接受新的消息",
        "The server is shutting down and takes no new messages.",
    ),
    "NOT_READY": (
        "无法启动 CLI：找不到其程序",
        "A CLI cannot be started: its program or Node.js is missing.",
    ),
    "disk_refuses": (
        "磁盘无法写入会话内容，请查看服务器日志",
        "Messages cannot be saved to disk; the server's log says why.",
    ),
    "INTERNAL_ERROR": ("服务器内部错误", "The server failed; its log says why."),
    "AUTH_NOT_SET": ("尚未设置认证配置", "No credentials are configured: POST /auth/config."),
    "AUTH_REQUIRED": ("认证失败：{reason}", "{reason}"),
    "ACCESS_DENIED": ("访问被拒绝：{reason}", "{reason}"),
    "AUTH_CONFIG_FAILED": ("认证配置失败：{reason}", "{reason}"),
    "OAUTH_INIT_FAILED": ("Google 登录初始化失败：{reason}", "{reason}"),
    "CLIENT_NOT_INITIALIZED": ("CLI 启动失败：{reason}", "{reason}"),
    "STREAM_ERROR": ("CLI 连接中断：{reason}", "{reason}"),
    "GEMINI_ERROR": ("Gemini 返回错误：{reason}", "{reason}"),
    "GEMINI_REFUSED": ("Gemini 拒绝了请求：{reason}", "{reason}"),
    "QUOTA_EXCEEDED": ("配额已用尽：{reason}", "{reason}"),
    "NETWORK_ERROR": ("网络错误：{reason}", "{reason}"),
    "TOOL_CALL_NOT_FOUND": ("没有等待确认的工具调用：{reason}", "{reason}"),
    "TOOL_CALL_CHANGED": ("工具调用已变更：{reason}", "{reason}"),
    "TOOL_INVALID_OUTCOME": ("该工具调用不支持此确认结果：{reason}", "{reason}"),
    "AGENT_NOT_FOUND": ("代理不可用：{reason}", "{reason}"),
    "SESSION_NOT_FOUND": ("会话不存在：{reason}", "{reason}"),
    "ELICITATION_NOT_FOUND": ("没有等待回答的问题：{reason}", "{reason}"),
    "QUEUED_NOT_FOUND": ("等待的消息不存在：{reason}", "{reason}"),
    "OPTION_NOT_FOUND": ("选项不存在：{reason}", "{reason}"),
    "SESSION_BUSY": ("会话正忙：{reason}", "{reason}"),
    "NOT_SENT": ("消息未发送：{reason}", "{reason}"),
    "SESSION_ELSEWHERE": ("会话在另一台服务器上：{reason}", "{reason}"),
    "ATTACHMENT_NOT_FOUND": ("附件不存在：{reason}", "{reason}"),
    "TOOL_SERVERS_DISABLED": ("工具服务器已禁用：{reason}", "{reason}"),
    "TURN_NOT_FOUND": (
        "对话 {turn} 不存在或已被新的对话取代",
        "There is no turn {turn}, or a later turn has replaced it.",
    ),
    "FILE_NOT_FOUND": ("文件或目录不存在：{reason}", "{reason}"),
    "file_missing": ("文件不存在：{path}", "There is no {path}."),
    "parent_missing": ("父目录不存在：{path}", "There is no folder {path} to write into."),
    "PATH_REFUSED": (
        "路径不在允许的目录内：{path}",
        "{path} is outside the folders that this server was started with.",
    ),
    "path_forbidden": ("没有访问权限：{path}", "The operating system denies access to {path}."),
    "path_bad": ("无效的路径：{path}", "{path} is not a valid path."),
    "path_no_folder": ("不是目录：{path}", "{path} is not a folder."),
    "path_no_file": ("不是普通文件：{path}", "{path} is not a regular file."),
    "MODEL_NOT_FOUND": ("没有模型 {model}", "There is no model {model}."),
    "UNSUPPORTED_PARAMETER": (
        "不支持参数 {field}：CLI 无法实现它",
        "The parameter {field} is not supported: the CLI offers nothing to do it with.",
    ),
    "openai_tools": (
        "不支持 {field}：工具由 CLI 自己运行",
        "The parameter {field} is not supported: the CLI uses its own tools.",
    ),
    "openai_choices": (
        "参数 {field} 只能为 1",
        "Expected {field} to be 1: there is only one answer.",
    ),
    "openai_stop_shape": (
        "参数 {field} 不能与 response_format 一起使用",
        "The parameter {field} is not supported together with response_format: JSON that is cut"
        " off is no JSON.",
    ),
    "openai_not_run": (
        "[未运行，因为需要有人确认：{tools}]",
        "[Not run, because somebody would have to allow it: {tools}]",
    ),
    "schema_keyword": (
        "不支持 {field} 中的关键字 {keyword}",
        "The keyword {keyword} is not supported in {field}.",
    ),
    "schema_far": (
        "{field} 中的 $ref 只能引用该模式自身",
        "Expected every $ref in {field} to lead into the schema itself.",
    ),
    "schema_wrong": (
        "{field} 不是有效的 JSON Schema：{problem}",
        "{field} is not a valid JSON Schema: {problem}.",
    ),
    "OUTPUT_INVALID": (
        "模型两次回答均不符合 response_format：{problem}",
        "The model's answer did not have the shape of response_format, twice. {problem}",
    ),
    "TURN_CANCELLED": (
        "对话在回答完成前已被取消",
        "The turn was cancelled before its answer was complete.",
    ),
    "openai_last": (
        "{field} 的最后一条消息的角色必须是 user",
        "Expected the last of the {field} to have the role user.",
    ),
    "openai_parts": (
        "{field} 只支持文本、图片和文件",
        "Expected only texts, pictures and files in {field}.",
    ),
    "openai_far_file": (
        "{field} 中的图片和文件必须是 base64 的 data: 地址；服务器不加载其他地址",
        "Expected pictures and files in {field} as data: addresses with base64: the server loads"
        " nothing from other addresses.",
    ),
    "openai_base64": ("{field} 中的 base64 无效", "Expected valid base64 in {field}."),
    "PREVIOUS_RESPONSE_NOT_FOUND": (
        "没有回答 {id}，或它已不再保留",
        "There is no response {id} of this token, or it is no longer kept: send the messages.",
    ),
    "file_no_text": ("不是 UTF-8 文本文件：{path}", "{path} is not a text file in UTF-8."),
    "FILE_TOO_LARGE": (
        "文件超过 {limit} 字节：{path}",
        "{path} is larger than {limit} bytes.",
    ),
    "FILE_ERROR": ("文件操作失败：{path}（{reason}）", "The operation on {path} failed: {reason}."),
    "COMMANDS_DISABLED": (
        "命令执行已禁用；启动服务器时使用 --allow-commands 启用",
        "Commands are switched off; start the server with --allow-commands to switch them on.",
    ),
    "command_blank": ("请求参数错误：命令为空白", "The command is blank."),
    "command_bad": ("无效的命令：{reason}", "The command cannot be started: {reason}."),
}


def answer_text(key: str, language: str = CHINESE, **values: object) -> str:
    """The text in the language. Raises KeyError for an unknown key or a missing value."""
    chinese, english = TEXTS[key]
    return (english if language == ENGLISH else chinese).format(**values)


def language_of(accepted: str, otherwise: str = CHINESE) -> str:
    """The language that an Accept-Language header prefers.

    en-US,en;q=0.9,zh;q=0.8     en
    zh-CN                       zh
    fr                          otherwise
    """
    best, weight = otherwise, 0.0
    for part in accepted.lower().split(","):
        tag, _semicolon, parameter = part.partition(";")
        language = tag.strip().split("-")[0]
        given = _language_weight(parameter)
        if language in (CHINESE, ENGLISH) and given > weight:
            best, weight = language, given
    return best


def _language_weight(parameter: str) -> float:
    name, _equals, value = parameter.strip().partition("=")
    try:
        return float(value) if name.strip() == "q" else 1.0
    except ValueError:
        return 0.0
