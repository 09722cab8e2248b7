// The bell's texts in Japanese.

export default {
	title: "通知", unseen: "新着 {n} 件", count: "未読 {n} 件", nothing: "新着なし", unknown: "読み込み中", away: "オフライン", out: "サインアウト中",
	noAccess: "アクセス権なし", hushed: "おやすみモード", inbox: "受信", unread: "未読", archived: "アーカイブ", close: "閉じる", back: "戻る",
	markAll: "すべて既読にする ({n})", marked: "{n} 件を既読にしました。", done: "完了しました。", undo: "元に戻す", loading: "読み込み中…",
	empty: "通知はまだありません", emptyMore: "新しい通知はここに表示されます。", emptyUnread: "すべて既読です。", emptySearch: "「{text}」は見つかりませんでした。",
	end: "以上です。", offline: "オフラインです。", asOf: "オフラインです。{time} 時点の内容です。", unreachable: "接続できません",
	unreachableMore: "オフラインか、サーバーが応答していません。", waits: "{n} 件の変更は後で送信されます。", signedOut: "サインアウトしています",
	refused: "有効期限が切れました。もう一度サインインしてください。", signIn: "サインイン", blocked: "アクセス権がありません",
	blockedMore: "このアカウントでは、これらの通知を表示できません。", failed: "読み込めませんでした。", wrong: "設定が正しくありません: {what} はアドレスではありません。",
	retry: "再試行", menu: "その他: {title}", read: "既読にする", unreadAgain: "未読にする", archive: "アーカイブする", unarchive: "アーカイブから戻す",
	snooze: "スヌーズ", hour: "1 時間", evening: "今晩", tomorrow: "明日", week: "来週", date: "日時を指定…", mute: "このスレッドをミュート",
	muteTopic: "このトピックをミュート",
	delete: "削除", showAll: "すべて表示", search: "検索", quiet: "おやすみモード", always: "自分で解除するまで", critical: "重大", timeSensitive: "緊急",
	changed: "変更あり", changedSince: "表示中に内容が変わりました。もう一度回答してください。", more: "ほか {n} 件の通知", by: "{more}（{names}）",
	others: "ほか {n} 人", settings: "設定", categories: "通知する項目", muted: "ミュート中", mutedNone: "ミュート中のものはありません。",
	unmute: "ミュート解除", until: "{time} まで", thread: "スレッド", topic: "トピック", category: "カテゴリ",
	system: "このページが背面にあるときも通知を表示します", turnOn: "オンにする",
	turnedOn: "オン", denied: "ブロックされています。ブラウザの設定で許可してください。",
};
