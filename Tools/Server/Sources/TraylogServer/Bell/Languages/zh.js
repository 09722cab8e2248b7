// The bell's texts in Chinese, simplified.

export default {
	title: "通知", unseen: "{n} 条新通知", count: "{n} 条未读", nothing: "没有新通知", unknown: "正在加载", away: "离线", out: "已退出登录",
	noAccess: "无权访问", hushed: "勿扰", inbox: "收件箱", unread: "未读", archived: "已归档", close: "关闭", back: "返回",
	markAll: "全部标为已读 ({n})", marked: "已将 {n} 条标为已读。", done: "完成。", undo: "撤销", loading: "正在加载…", empty: "暂无通知",
	emptyMore: "新通知会显示在这里。", emptyUnread: "全部已读。", emptySearch: "未找到“{text}”。", end: "没有更多了。", offline: "离线。",
	asOf: "离线。截至 {time}。", unreachable: "无法连接", unreachableMore: "你处于离线状态，或服务器没有响应。", waits: "{n} 项更改将稍后发送。",
	signedOut: "已退出登录", refused: "登录已过期，请重新登录。", signIn: "登录", blocked: "无权访问", blockedMore: "你的账号无权查看这些通知。",
	failed: "加载失败。", wrong: "设置有误：{what} 不是地址。", retry: "重试", menu: "更多：{title}", read: "标为已读", unreadAgain: "标为未读",
	archive: "归档", unarchive: "取消归档", snooze: "稍后提醒", hour: "1 小时", evening: "今晚", tomorrow: "明天", week: "下周",
	date: "指定时间…", mute: "静音此会话",
	muteTopic: "静音此主题", delete: "删除", showAll: "显示全部", search: "搜索", quiet: "勿扰", always: "直到我关闭", critical: "严重",
	timeSensitive: "紧急", changed: "已更改", changedSince: "内容在此期间已更改，请重新回答。", more: "另外 {n} 条通知", by: "{more}，来自{names}",
	others: "另外 {n} 人", settings: "设置", categories: "通知我", muted: "已静音", mutedNone: "没有静音的内容。", unmute: "取消静音",
	until: "至 {time}", thread: "会话", topic: "主题", category: "类别",
	system: "此页面在后台时显示通知", turnOn: "开启",
	turnedOn: "已开启", denied: "已被阻止。请在浏览器设置中允许。",
};
