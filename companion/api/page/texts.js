// The page's own texts, in English and Chinese. Texts from the server are in the same language, because
// every request names it.

const TEXTS = {
  settings: ["Settings", "设置"],
  workspace: ["Folder", "目录"],
  agent: ["CLI", "CLI"],
  model: ["Model", "模型"],
  mode: ["Mode", "模式"],
  modeDefault: ["Ask first", "先询问"],
  modeAutoEdit: ["Edit without asking", "自动编辑"],
  modePlan: ["Plan only", "仅规划"],
  modeYolo: ["Never ask", "从不询问"],
  newConversation: ["New conversation", "新会话"],
  conversations: ["Conversations", "会话列表"],
  search: ["Search conversations", "搜索会话"],
  nothingFound: ["No conversation has this in its title or text.", "没有标题或内容匹配的会话。"],
  searches: ["Searching…", "正在搜索…"],
  rename: ["Rename “{0}”", "重命名“{0}”"],
  newTitle: ["New title", "新标题"],
  removeThis: ["Delete “{0}”", "删除“{0}”"],
  remove: ["Delete", "删除"],
  removeTitle: ["Delete this conversation?", "删除此会话？"],
  keepIt: ["Do not delete", "不删除"],
  atWork: ["at work", "进行中"],
  showEarlier: ["Show earlier messages", "显示更早的消息"],
  toEnd: ["↓ To the end", "↓ 到末尾"],
  decisions: ["Decision", "决定"],
  decisionsByKeys: ["Decision. Escape comes here, the digits decide.", "决定。按 Escape 到此处，数字键作出决定。"],
  showCall: ["Show", "查看"],
  lines: ["{0} lines", "{0} 行"],
  moreLines: ["{0} more lines ↓", "还有 {0} 行 ↓"],
  oneMoreLine: ["1 more line ↓", "还有 1 行 ↓"],
  readFirst: ["Unfold it and read to its end before you allow it.", "展开全部并看到末尾之后才能允许。"],
  more: ["{0} more", "还有 {0} 个"],
  edit: ["Edit", "编辑"],
  saveEdit: ["Write this text", "写入此文本"],
  back: ["Back", "返回"],
  copy: ["Copy", "复制"],
  copied: ["Copied", "已复制"],
  notCopied: ["Not copied", "未能复制"],
  tokenWanted: [
    "This page needs the server's token. The server printed a link that has it when it was "
      + "started; it also says in which file the token is.",
    "此页面需要服务器的访问令牌。服务器启动时打印了带令牌的链接，以及令牌所在的文件。",
  ],
  tokenRefused: [
    "The server refused this token. It may belong to another server.",
    "服务器不接受此令牌，它可能属于另一个服务器。",
  ],
  token: ["Token, or the whole link", "令牌或完整链接"],
  open: ["Open", "打开"],
  conversation: ["Conversation", "会话"],
  emptyTitle: ["What is to be done?", "需要做什么？"],
  worksIn: [
    "{0} works in {1}. The mode says what it does there without asking.",
    "{0} 在 {1} 中工作。“模式”决定哪些操作无需询问。",
  ],
  exampleExplain: [
    "Explain what this project does, and how its parts fit together.",
    "说明这个项目的功能，以及各部分如何配合。",
  ],
  exampleFind: [
    "Find a bug, show where it is, and say how you would fix it.",
    "找出一个缺陷，指出位置，并说明修复方法。",
  ],
  exampleTest: ["Write a test for the part that needs one most.", "为最需要测试的部分编写一个测试。"],
  emptyHint: [
    "@ names a file or a folder, / a command of the CLI, and + attaches images and PDFs.",
    "@ 引用文件或目录，/ 使用 CLI 命令，+ 添加图片和 PDF。",
  ],
  message: ["Message", "消息"],
  messageShort: ["Ask something", "提问"],
  messageHint: [
    "Ask something: Enter sends, Shift+Enter begins a line, @ names a file, / a command.",
    "提问：Enter 发送，Shift+Enter 换行，@ 引用文件，/ 使用命令。",
  ],
  nothingTyped: ["Type a message first.", "请先输入消息。"],
  waitsForConversation: [
    "Sent as soon as the conversation is open.", "会话打开后自动发送。",
  ],
  waitsForLogin: ["Sent as soon as you are logged in.", "登录后自动发送。"],
  queue: ["Messages that wait for the answer above", "等待上面的回答完成的消息"],
  queueEdit: ["Edit “{0}”", "编辑“{0}”"],
  queueUp: ["Move up “{0}”", "上移“{0}”"],
  queueNow: ["Send now: “{0}”", "立即发送“{0}”"],
  queueNowWord: ["Send now", "立即发送"],
  queueRemove: ["Take back “{0}”", "撤回“{0}”"],
  passing: [
    "The first one reaches the agent with its next step. Send it now once more to stop the answer.",
    "第一条消息将在 CLI 的下一步送达。再次点击“立即发送”可中断当前回答。",
  ],
  held: [
    "Not sent by itself: send one now, or go on with another message.",
    "不会自动发送：请立即发送其中一条，或继续发送其他消息。",
  ],
  waitsForFiles: ["Sent as soon as its files are there.", "附件上传后自动发送。"],
  notSent: ["Not sent yet.", "尚未发送。"],
  hold: ["Do not send", "不发送"],
  filesLater: [
    "Nothing was attached: there is no conversation yet.", "未添加附件：还没有会话。",
  ],
  suggestions: ["Suggestions", "建议"],
  suggested: ["{0} suggestions; the arrow keys choose, Enter inserts one.", "{0} 条建议；方向键选择，Enter 采用。"],
  attachments: ["Attachments", "附件"],
  attach: ["Attach images or PDFs", "添加图片或 PDF"],
  detach: ["Remove “{0}”", "移除“{0}”"],
  uploads: ["is being sent…", "正在上传…"],
  dropHere: ["Drop images or PDFs to attach them", "拖放图片或 PDF 以添加附件"],
  send: ["Send", "发送"],
  stop: ["Stop", "停止"],
  you: ["You", "你"],
  login: ["Login", "登录"],
  close: ["Close", "关闭"],
  kind: ["Kind", "方式"],
  kindKey: ["Gemini API key", "Gemini API 密钥"],
  kindVertex: ["Vertex AI", "Vertex AI"],
  kindGoogle: ["Google account", "Google 账号"],
  kindOpenai: ["An API like OpenAI's", "OpenAI 兼容 API"],
  kindAnthropic: ["Anthropic's API, or one like it", "Anthropic 或兼容 API"],
  unasked: ["Nobody was asked about this edit:", "以下编辑未经询问："],
  kindOwn: ["The agent's own login", "代理自己的登录"],
  baseUrl: ["Address of the API, if it is not OpenAI's", "API 地址（若不是 OpenAI）"],
  apiKey: ["API key", "API 密钥"],
  project: ["Google Cloud project", "Google Cloud 项目"],
  location: ["Location", "区域"],
  save: ["Use this", "使用"],
  logout: ["Log out", "退出登录"],
  codeWanted: [
    "Open the link, log in, and enter the code that Google shows.",
    "打开链接登录，然后把 Google 显示的授权码填在这里。",
  ],
  codeLink: ["Log in with Google", "使用 Google 登录"],
  code: ["Code", "授权码"],
  codeSend: ["Send the code", "提交授权码"],
  loggedOut: ["Not logged in", "未登录"],
  notComplete: ["Configured, but not logged in or refused", "已配置，但尚未登录或已被拒绝"],
  verified: ["worked for the last message", "最近一次消息已验证"],
  unverified: ["not tried yet", "尚未验证"],
  thoughts: ["Thoughts", "思考"],
  args: ["Arguments", "参数"],
  result: ["Result", "结果"],
  change: ["Change", "更改"],
  changes: ["Changed files", "更改的文件"],
  undo: ["Undo these changes", "撤销这些更改"],
  created: ["created", "已创建"],
  changed: ["changed", "已更改"],
  as_left: ["as this turn left it", "与此轮对话结束时相同"],
  undone: ["as it was before", "与此轮对话之前相同"],
  changed_since: ["changed since, so it is left alone", "之后又被更改，因此保持原样"],
  not_stored: ["cannot be undone", "无法撤销"],
  pending: ["waits for you", "等待确认"],
  executing: ["runs", "执行中"],
  completed: ["done", "完成"],
  failed: ["failed", "失败"],
  rejected: ["rejected", "已拒绝"],
  called: ["called", "已调用"],
  asks: ["Your decision is needed.", "等待你的决定。"],
  asksByKeys: [
    "Your decision is needed. Escape goes there; then the digits decide.",
    "等待你的决定。按 Escape 前往，再按数字键决定。",
  ],
  asksYou: ["{0} asks you", "{0} 询问"],
  answer: ["Answer", "回答"],
  decline: ["Decline", "拒绝回答"],
  openPlace: ["Open this address", "打开此地址"],
  wasAnswered: ["answered", "已回答"],
  declined: ["declined", "已拒绝回答"],
  notAnswered: ["not answered", "未回答"],
  plan: ["Plan", "计划"],
  plan_pending: ["to do", "待办"],
  plan_in_progress: ["being done", "进行中"],
  plan_completed: ["done", "完成"],
  context: ["Context: {0} of {1} ({2} %)", "上下文：{0} / {1}（{2}%）"],
  cost: ["Cost so far: {0}", "累计费用：{0}"],
  works: ["At work…", "正在工作…"],
  starts: ["The CLI starts…", "正在启动 CLI…"],
  answered: ["The answer is complete.", "回答完成。"],
  comesBack: ["The connection was lost; trying again…", "连接已断开，正在重试…"],
  lost: [
    "The connection to the server is lost. Is it still running?",
    "与服务器的连接已断开。服务器还在运行吗？",
  ],
  forgotten: [
    "The server no longer knows the conversation, so a new one has begun. Send the message again.",
    "服务器已没有此会话，因此开始了新会话。请重新发送消息。",
  ],
  tokens: ["Tokens: {0} in, {1} out", "令牌：输入 {0}，输出 {1}"],
  diffCoarse: [
    "The change is large: all replaced lines are shown first, then the new ones.",
    "更改较大：先显示所有被替换的行，再显示新的行。",
  ],
  lineCut: ["… {0} more characters", "… 还有 {0} 个字符"],
  textCut: ["… {0} more characters are not shown.", "… 还有 {0} 个字符未显示。"],
  unchanged: ["{0} lines unchanged", "{0} 行未更改"],
  noEnd: ["(no line end)", "（无换行符）"],
  nothing: ["Nothing changes.", "没有更改。"],
  details: ["Details", "详情"],
  // What to do about an error, by its code.
  AUTH_NOT_SET: ["Choose how to log in, under “Login”.", "请在“登录”中配置认证。"],
  AUTH_REQUIRED: ["Check the key or the account under “Login”.", "请在“登录”中检查密钥或账号。"],
  ACCESS_DENIED: [
    "Use a key or an account that may use this model, under “Login”.",
    "请在“登录”中使用有权访问该模型的密钥或账号。",
  ],
  SESSION_BUSY: ["Wait for the answer, or stop it first.", "请等待回答结束，或先停止。"],
  QUOTA_EXCEEDED: [
    "Wait, choose another model, or use another key.",
    "请稍候、选择其他模型或使用其他密钥。",
  ],
  NETWORK_ERROR: ["Check the network connection and try again.", "请检查网络连接后重试。"],
  STREAM_ERROR: ["Send the message again; the CLI is restarted.", "请重新发送；CLI 会重新启动。"],
  CLIENT_NOT_INITIALIZED: [
    "Check whether `gemini` runs in a terminal; the server's log has more.",
    "请检查终端中能否运行 `gemini`；服务器日志有更多信息。",
  ],
  TIMED_OUT: ["Try again, perhaps with a smaller task.", "请重试，或尝试较小的任务。"],
  PATH_REFUSED: [
    "Choose a folder within those that the server was started with (--workspace, --root).",
    "请选择服务器启动时指定的目录（--workspace、--root）之内的目录。",
  ],
};

export const language = navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";

/** The text of that name, or "" if there is none; {0}, {1} are filled in. */
export function say(name, ...values) {
  const found = Object.hasOwn(TEXTS, name) ? TEXTS[name][language === "zh" ? 1 : 0] : "";
  return values.reduce((text, value, at) => text.replace(`{${at}}`, String(value)), found);
}

/** Puts texts into the elements that name them. */
export function label(root) {
  document.documentElement.lang = language;
  for (const each of root.querySelectorAll("[data-text]")) each.textContent = say(each.dataset.text);
  for (const each of root.querySelectorAll("[data-label]")) {
    each.setAttribute("aria-label", say(each.dataset.label));
  }
  for (const each of root.querySelectorAll("[data-title]")) each.title = say(each.dataset.title);
  for (const each of root.querySelectorAll("[data-placeholder]")) {
    each.placeholder = say(each.dataset.placeholder);
  }
}
