"""What the reference of the interface says around its calls, in both languages."""

from __future__ import annotations

from typing import Final

_READ_KEY: Final = """```sh
address=$(jq -r .address ~/.humanmcp/desk.json)
token=$(jq -r .token ~/.humanmcp/desk.json)
curl -H "Authorization: Bearer $token" "${address}api/exchanges"
```"""

INTRO: Final = {
    "en": (
        "# The JSON interface of the desk",
        "",
        "([日本語](api.ja.md))",
        "",
        "Whatever the page can do, a script can do, under the same checks. Read the address and the",
        "token in `desk.json` of the inbox folder; only you can read it, and both are new whenever",
        "the desk starts.",
        "",
        _READ_KEY,
        "",
        "Every POST carries JSON (`Content-Type: application/json`). Texts for people come in the",
        'language of `?lang=en` or `?lang=ja`. Errors have a status and `{"detail": …}`; 404 is for a',
        "session or an exchange that is not there, 422 for a body that is not what stands here, 503",
        "when too much is sent at the same moment, 507 for a disk that did not keep something, 500",
        "for what the desk did not expect, with the `log` where it is written down. An exchange is",
        "named by its session and our own number, never by the client's id. What each fault does is",
        "on [its own page](faults.md).",
    ),
    "ja": (
        "# デスクの JSON インターフェース",
        "",
        "（[English](api.md)）",
        "",
        "ページでできることは、すべてスクリプトでもできます。チェックも同じです。アドレスとトークンは、受信箱のフォルダーの",
        "`desk.json` にあります。読めるのはあなただけで、どちらもデスクを起動するたびに新しくなります。",
        "",
        _READ_KEY,
        "",
        "POST はすべて JSON を送ります（`Content-Type: application/json`）。人が読む文は `?lang=en` か `?lang=ja` の言語になります。",
        'エラーには状態コードと `{"detail": …}` があります。404 は、セッションややり取りがないとき、422 は、本文がここに書いてある',
        "形と違うとき、503 は、同時に送られるものが多すぎるとき、507 は、ディスクが保存しなかったとき、500 は、デスクが予期しなかったとき",
        "（`log` に、記録した場所があります）です。やり取りは、クライアントの id ではなく、セッションと humanmcp の番号で指定します。壊し方の 1 つ 1 つは[別のページ](faults.ja.md)にあります。",
    ),
}

TITLES: Final = {
    "en": {
        "reading": "What there is, and what changed",
        "writing": "Writing and sending",
        "completing": "Help while typing",
        "prepared": "Prepared answers and rules",
        "opening": "The opening and the demo",
        "visits": "Coming and going",
        "printed": "What `--json` prints",
        "shapes": "Shapes",
    },
    "ja": {
        "reading": "今あるものと、変わったこと",
        "writing": "書くことと送ること",
        "completing": "打ち込む間の手助け",
        "prepared": "用意した回答とルール",
        "opening": "始まりとデモ",
        "visits": "ログインとログアウト",
        "printed": "`--json` が表示するもの",
        "shapes": "データの形",
    },
}

PRINTED_WORDS: Final = {
    "en": (
        "The commands of the terminal write the same shapes, one object on one line; `hosts` writes a"
        " list of\nthem. `client` writes the result of its request as the server wrote it, `--list` one"
        " object with the\nentries of all pages."
    ),
    "ja": (
        "ターミナルのコマンドも同じ形のデータを、1 行に 1 つのオブジェクトで書きます。`hosts` はそのリストを書きます。"
        "`client` はリクエストの結果をサーバーが書いたとおりに、\n`--list` ではすべてのページを 1 つのオブジェクトにまとめて書きます。"
    ),
}

TYPES: Final = {
    "en": {
        "query": "in the address",
        "body": "body",
        "answer": "answer",
        "member": "member",
        "type": "type",
        "default": "default",
        "or": " or ",
        "list": "list of {}",
        "typed": "{} ({})",
        "string": "text",
        "integer": "whole number",
        "number": "number",
        "boolean": "true or false",
        "object": "object",
        "array": "list",
        "null": "null",
        "any": "any value",
    },
    "ja": {
        "query": "アドレスに書くもの",
        "body": "本文",
        "answer": "返るもの",
        "member": "メンバー",
        "type": "型",
        "default": "既定値",
        "or": " または ",
        "list": "{} のリスト",
        "typed": "{}（{}）",
        "string": "文字列",
        "integer": "整数",
        "number": "数",
        "boolean": "true か false",
        "object": "オブジェクト",
        "array": "リスト",
        "null": "null",
        "any": "任意の値",
    },
}
"""The words for JSON's types, and the heads of the tables."""

CALLS_JA: Final = {
    "GET /api/state": "あるバージョンから後に変わったことを返します。イベントの流れを受け取れないとき用です。",
    "GET /api/events": (
        "イベントの流れ（server-sent events）を開きます。何が変わったかだけを伝え、変わった後の値は伝えません。\n\n"
        "`after` かヘッダー `Last-Event-ID` を使うと、ある変更の後から続けられます。`hello` の後に、`version` と `changes` を持つ\n"
        "`change` が来ます。デスクが終わるか、ログアウトすると、`bye` で終わります。"
    ),
    "GET /api/sessions": "セッションを新しい順に並べます。",
    "GET /api/exchanges": (
        "回答を待っているものを、長く待っている順に並べます。`session` を指定すると、そのセッションだけになります。"
    ),
    "GET /api/exchanges/{session}/{number}": (
        "やり取りを 1 つ、状態にかかわらず、今の下書きと一緒に返します。\n\n"
        "`line` は届いたままのリクエスト、`id` は届いたままの id の文字列、`document` は下書きが表すメッセージの全体、`problems` は前の\n"
        "回答が戻ってきた理由、`remarks` はリクエストについてチェックが言うことです。"
    ),
    "GET /api/calls": (
        "クライアントがサーバーに求めたことを、回答と一緒に並べます。クライアントのテスト用です。\n\n"
        "`session`、`method`、`name`（ツールやプロンプトの名前、またはアドレス）で絞り込めます。`most` より多いときは、最後のものから\n"
        "その数だけを返します。"
    ),
    "GET /api/history": (
        "すべての記録を、ページと同じように検索し、新しい行から返します。\n\n"
        "`session` と `seq` に前に返った `further` を渡すと、その続きを返します。"
    ),
    "GET /api/sessions/{session}/lines/{seq}": "記録した行を 1 つ、そのままの形と整えた形で返します。",
    "POST /api/exchanges/{session}/{number}/check": (
        "文章の問題点と、送ることになる行（`line`）を返します。何も送りません。\n\n"
        "`fields` には、まだ JSON になっていない項目の文字を、ポインターごとに入れます。項目は 1 つずつチェックされ、JSON になるまで何も送れません。"
    ),
    "POST /api/exchanges/{session}/{number}/autofix": (
        "何も消さず、何も作り出さず、推測でもない修正を、すべて適用します。"
    ),
    "POST /api/exchanges/{session}/{number}/break": (
        "回答に「わざと壊す」の壊し方を 1 つ入れて返します。何も保存せず、何も送りません。"
    ),
    "POST /api/exchanges/{session}/{number}/draft": (
        "書きかけの文章を保存します。やり取りが終わった後でも保存します。\n\n"
        "`hold` は回答帳を止めます。`who` は書いているページの名前です。"
    ),
    "POST /api/exchanges/{session}/{number}/hold": "回答帳のカウントダウンを止めるか、また進めます。",
    "POST /api/exchanges/{session}/{number}/reply": (
        "回答を送ります。\n\n"
        "`became` と状態コード: `sent`（200）、`on its way`（202）、`taken`（409: ほかの回答が先でした）、\n"
        "`over`（409: もう何も待っていません）、`blocked` か `refused`（422）。`anyway` は、チェックがエラーを見つけても送ります。`action` は、タップが止めているメッセージを\n"
        "どうするかです。"
    ),
    "POST /api/sessions/{session}/say": (
        "あなたから始めるもの（通知、クライアントへのリクエスト、指示）を渡します。\n\n"
        "指示 `offer` は提供するものを変えます。`text` は、回答帳のルールと同じく `add` と `remove` のある JSON です。ほかはクライアントのテスト用です。`raw` は `text` の base64 が表すバイト列をそのまま書き、`progress` と `silence` は `on` か\n"
        "`off` を、`exit` は終了ステータスを取り、`crash` は何も取りません。従えないときは 422 で理由を返します。"
    ),
    "GET /api/exchanges/{session}/{number}/schema": (
        "回答に書けるものを、JSON Schema で返します。エディターのためのものです。\n\n"
        "セッションのリビジョンのもので、ツールや質問が宣言したものを含みます。"
    ),
    "GET /api/sessions/{session}/schema": (
        "クライアントがサーバーに言えることを、JSON Schema で返します。エディターのためのものです。\n\n"
        "各ツールの引数は、サーバーが宣言したものです。"
    ),
    "POST /api/sessions/{session}/complete": (
        "プロンプトやリソーステンプレートの引数の続きの候補を、サーバーに尋ねます。\n\n"
        "セッションがクライアントの席のものでないとき、サーバーが補完を提供していないとき、"
        "5 秒以内に答えないとき（このリクエストは取り消します）は、候補はありません。"
    ),
    "GET /api/sessions/{session}/reactions": (
        "一覧の変更、質問、進捗、遅れた回答、誤った行に、クライアントがどうしたかを返します。\n\n"
        "`became` はコード、`sentence` はそれを言葉にしたものです。`after` は秒数です。"
    ),
    "GET /api/sessions/{session}/say/{ticket}": (
        "渡したものがどうなったかを返します。`waiting`、`sent`、`refused`（問題点つき）のどれかです。"
    ),
    "GET /api/answers": "保存した回答を並べます。メソッドを指定すると、それに合うものだけになります。",
    "POST /api/answers": "回答を、次のために保存します。",
    "POST /api/answers/remove": "保存した回答を捨てます。",
    "GET /api/exchanges/{session}/{number}/last": (
        "同じメソッドとツールへの前回の回答を、このリクエストの id にして返します。"
    ),
    "POST /api/rules": (
        "ルールを回答帳に足し、文にして返します。`save` が false なら、文にするだけです。"
    ),
    "POST /api/demo": "デモのホストを起動します。最初のリクエストは数秒で届きます。",
    "GET /api/opening": "すべてのセッションの始まりを人が回答するかどうかを返します。",
    "POST /api/opening": "セッションの始まりを人に任せるか、また回答帳に任せます。",
    "POST /api/login": (
        "一度だけ使えるキーか短いコードを、ログインの cookie と交換します。\n\n"
        "`place` は、ログインした後のアドレスの始まりです。cookie はそこでだけ使えます。"
    ),
    "POST /api/login-key": (
        "一度だけ使えるキーを作ります。5 分以内なら `/login#k=KEY` を開けます。\n\n"
        "トークンを示した相手にだけ渡します。ログインしたページには 403 を返すので、ログアウトの後に残るキーはありません。"
        "`session` があれば、そのセッションだけを開きます。"
    ),
    "POST /api/logout": "このブラウザーをログアウトします。イベントの流れも終わります。",
}
"""What each call is for, in Japanese; the English sentence is the docstring of its route."""

SHAPES_JA: Final = {
    "ConfigShape": "`config` が見せるものと、したこと。`snippet` は貼り付けるもの、`link` と `shell` は貼り付けずに加える方法です。",
    "FindingShape": "`doctor` が 1 つのことについて見つけたこと。",
    "DoctorShape": "`doctor` が見つけたこと。`ok` は、問題が 1 つもないことです。",
    "HostRowShape": "測ったかぎりの、ホストの振る舞い（秒）。`waited` は、`call` が少なくともある長さです。",
    "TurnShape": "モデルとの会話の 1 つの番。モデルのサービスが使う形です。",
    "PromptedShape": "モデルが最後に言ったことと、会話の全体。",
    "AnswerShape": "送った回答。`deliberate` は、チェックがエラーを見つけても送ったものです。",
    "BreakBody": "今までの回答と、入れる壊し方。",
    "ReactionShape": "こちらが言った 1 つのことに、相手がどうしたかです。`seq` はその行です。",
    "CompleteBody": "何の続きか（`ref`、MCP の書き方）、打ち込まれた値、ほかの引数。",
    "JsonSchemaShape": "書けるもの（JSON Schema）。",
    "ValuesShape": "サーバーが引数に示す候補。",
    "ReactionsShape": "クライアントがどうしたかを、古い順に並べたものです。",
    "CallShape": (
        "クライアントのリクエストと、その回答。`line` と `answer` は文字列です。数としては読みません。"
    ),
    "CallsShape": "クライアントのリクエスト（届いた順）。",
    "ChangeShape": (
        "変わったこと。`what` は `arrived`、`changed`、`closed`、`session`、`lines`（何かが話された）、\n"
        "`everything` のどれかです。`everything` には\n"
        "やり取りの名前がありません。番号 0 はセッションです。"
    ),
    "DocumentShape": "メッセージの全体。",
    "DraftBody": (
        "人が書いているもの。`hold` は回答帳を止めます。`who` は書いているページの名前です。\n"
        "`aside` は、これに置き換わった文章で、その横に残します。"
    ),
    "DraftShape": "誰かが書いているもの。",
    "ExchangeShape": "リクエストと、その結果。`line` と `id` は文字列です。数としては読みません。",
    "FixShape": "修正。`edits` は文章への変更で、前から順に並びます。`label` はボタンの文字です。",
    "EditShape": "`start` から `end` までの文字を `new` に置き換えます。",
    "FixedShape": "安全な修正をすべて適用した文章について、チェックが言うこと。",
    "HoldBody": "回答帳のカウントダウンを止めるかどうか。",
    "KeptShape": "下書きを保存した時刻。",
    "LastShape": "同じメソッドとツールへの前回の回答。ないときは null です。",
    "LineRowShape": "一覧の中の、記録した行。",
    "LineShape": "記録した行の、そのままの形と整えた形。",
    "LinesShape": "記録した行（新しい順）と、続きを始めるセッションと行。",
    "LoginKeyBody": 'キーが開く 1 つのセッション。"" ならすべてです。',
    "LoginBody": "どちらか 1 つ。アドレスのキーか、入力するコードです。",
    "LoginKeyShape": "ページを一度だけ開けるもの。アドレス用のキーと、入力するコードです。",
    "OpeningBody": "すべてのセッションの始まりに人が回答するかどうか。",
    "OutcomeShape": "送った回答がどうなったか。`sent`、`on its way`、`blocked`、`refused`、`taken`、`over` のどれかです。",
    "AnsweredShape": "`answer` がしたこと。`name` は、やり取りを指すために入力したもの、`why` は、何も送らなかった理由です。",
    "CheckedShape": "`check` が 1 つの回答について言うこと。送れないとき、`line` は null です。",
    "ConversationShape": "`check` が会話について言うこと。メッセージの数と、問題点です。",
    "JudgedShape": "会話の 1 行についてチェックが言うこと。`way` の `in` は、クライアントからです。",
    "InboxShape": "`inbox` の一覧。",
    "ListedShape": ("`inbox` の一覧の中のやり取り。`name` と `letter` は、人が入力するものです。"),
    "ShownShape": "`show` が見せるやり取り。`draft` は文章、`options` は選べるものです。",
    "CardShape": "メッセージの意味を説明する文。`silence` は、回答しないとどうなるかです。",
    "KeptTextShape": "書かれたが、送られなかった文章。",
    "UnreadableShape": "読めなかった最後の行と、読めなかった行の数。",
    "ForgottenShape": "`forget` が消したものと、クライアントが待っているので残したもの。入力する名前で書きます。",
    "RowShape": "一覧の中のやり取り。",
    "DiagnosticShape": "チェックが 1 か所について言うこと。`line` が 0 のときは、全体についてです。\n\n"
    "`field` は、まだ JSON になっていない項目の場所です。位置は、その項目の文字の中で数えます。\n"
    "`text` は `message` の前の名前です。`count` は、同じ種類の数です。",
    "RemoveBody": "捨てる回答の番号。",
    "RemovedShape": "捨てた回答の番号。",
    "ReplyBody": "人が送るもの。`anyway` は、チェックがエラーを見つけても送ります。",
    "RuleBody": "回答帳に書くルール。`save` が false なら、文にするだけです。",
    "RuleShape": "文と TOML にしたルール。ルールにできないときは `why` に理由があります。",
    "SaidShape": "あなたから始めたものがどうなったか。`waiting`、`sent`、`refused` のどれかです。",
    "SavedAnswersShape": "保存した回答。",
    "SavedBody": "保存する回答。名前、使いみち、文章です。",
    "SavedShape": "保存した回答。",
    "SayBody": "あなたから始めるもの。メッセージの全体の形の通知やリクエスト、または指示です。",
    "SessionShape": (
        "セッション。`stuck` は、クライアントが読まなくなったことです。`waiting` は、待っているリクエストの数です。"
    ),
    "SessionsShape": "すべてのセッション。新しい順です。",
    "StartedShape": "デモのホストを起動したかどうか。",
    "StateShape": "デスクの今の様子と、変わったこと。",
    "CheckBody": "文章と、まだ JSON になっていない項目の文字。項目はポインターで示します。",
    "TextBody": "文章と、それが表すもの。",
    "TicketShape": "どうなったかを後で聞くための名前。",
    "VerdictShape": "文章についてチェックが言うこと。問題点の場所は `text` の中で数えます。",
    "VisitShape": "ログインしているかどうかと、ログインした後のアドレスの始まり。",
    "WaitShape": "クライアントがどれだけ待つか、回答帳がいつ回答するか、何で待たせているか。",
    "WaitingRowShape": "待っているリクエスト。`arrived` は 1970 年からの秒数です。`name` は `tool` と同じです。",
    "WaitingShape": "待っているもの。長く待っている順です。",
}
"""What each shape is, in Japanese; the English sentence is its docstring."""
