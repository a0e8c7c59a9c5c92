// Made from humanmcp/answering/schema/ by `make docs`.

/** Replace the characters from `start` to `end` by `new`. */
interface EditShape {
  start: number;
  end: number;
  new: string;
}

/** A fix: edits of the text, in its order. `label` is what stands on its button. */
interface FixShape {
  label: string;
  applicability: "safe" | "guess" | "placeholder" | "removes";
  edits: Array<EditShape>;
}

/** What the check says of one place. `line` is 0 where the place is the whole.

`field` is the place of a field whose text is no JSON; the places then count in that text.
`text` is the `message` under its older name; `count`: how many of this kind there are. */
interface DiagnosticShape {
  code: string;
  level: "error" | "warning" | "hint" | "repaired";
  blocks: boolean;
  message: string;
  text: string;
  pointer: string;
  start: number;
  end: number;
  line: number;
  column: number;
  page: string;
  field: string;
  count: number;
  fix: FixShape | null;
}

/** What the check says of a text. The places of the problems count in `text`. */
interface VerdictShape {
  sendable: boolean;
  forcible: boolean;
  line: string | null;
  bytes: number | null;
  kind: string | null;
  text: string;
  problems: Array<DiagnosticShape>;
}

/** What the check says of a text after every fix that can be trusted. */
interface FixedShape {
  sendable: boolean;
  forcible: boolean;
  line: string | null;
  bytes: number | null;
  kind: string | null;
  text: string;
  problems: Array<DiagnosticShape>;
}

/** What `check` says of one answer. `line` is null where the check would not send it.

`id` is the caller's own, of a line of `--lines`. */
interface CheckedShape {
  sendable: boolean;
  forcible: boolean;
  line: string | null;
  bytes: number | null;
  kind: string | null;
  text: string;
  problems: Array<DiagnosticShape>;
  method?: string;
  file?: string;
  id?: any;
}

/** What the check says of one line of a conversation. `way`: `in` is from the client. */
interface JudgedShape {
  code: string;
  level: "error" | "warning" | "hint" | "repaired";
  blocks: boolean;
  message: string;
  text: string;
  pointer: string;
  start: number;
  end: number;
  line: number;
  column: number;
  page: string;
  field: string;
  count: number;
  fix: FixShape | null;
  way: string;
  method: string;
  id: string;
}

/** What `check` says of a conversation: how many messages, and what is wrong with them. */
interface ConversationShape {
  file?: string;
  messages?: number;
  errors?: number;
  warnings?: number;
  problems?: Array<JudgedShape>;
}

/** What became of a reply: `sent`, `on its way`, `blocked`, `refused`, `taken` or `over`. */
interface OutcomeShape {
  became: string;
  line: string;
  bytes: number;
  by: string;
  state: "pending" | "answered" | "cancelled" | "abandoned";
  problems: Array<DiagnosticShape>;
}

/** What `answer` did. `name`: what was typed for the exchange; `why`: why nothing was sent.

`deliberate`: sent although the check found errors. `open`: the request waits for another one. */
interface AnsweredShape {
  became: string;
  line: string;
  bytes: number;
  by: string;
  state: "pending" | "answered" | "cancelled" | "abandoned";
  problems: Array<DiagnosticShape>;
  sent?: boolean;
  name?: string;
  why?: string;
  deliberate?: boolean;
  open?: boolean;
}

/** What became of something said first: `waiting`, `sent` or `refused`. */
interface SaidShape {
  became: string;
  problems: Array<DiagnosticShape>;
}

/** How long the client waits, when the book answers, and by what the client is kept waiting.

`status_until`: over HTTP, for how long the status of the response is open. */
interface WaitShape {
  limit: number | null;
  source: string;
  book_at: number | null;
  held: boolean;
  means: string;
  why_not: string;
  status_until: number | null;
}

/** An exchange, as every list has it. `tool`: the tool or the prompt; `gist`: a few words.

`touched`: a person writes. `on_its_way`: a reply was sent and is not out yet. */
interface RowShape {
  session: string;
  number: number;
  state: "pending" | "answered" | "cancelled" | "abandoned";
  purpose: string;
  method: string;
  tool: string;
  gist: string;
  touched: boolean;
  on_its_way: boolean;
  waiting: WaitShape;
}

/** A request that waits since `arrived`, in seconds since 1970. `name` is the tool once more. */
interface WaitingRowShape {
  session: string;
  number: number;
  state: "pending" | "answered" | "cancelled" | "abandoned";
  purpose: string;
  method: string;
  tool: string;
  gist: string;
  touched: boolean;
  on_its_way: boolean;
  waiting: WaitShape;
  letter: string;
  name: string;
  arrived: number;
}

/** An exchange in the list of `inbox`. `name` and `letter` are what a person types.

`id` is the request's own. `arrived` is UTC, `waited` in seconds. `answer` is a line, or null.
What `waiting` holds stands beside it once more. */
interface ListedShape {
  session: string;
  number: number;
  state: "pending" | "answered" | "cancelled" | "abandoned";
  purpose: string;
  method: string;
  tool: string;
  gist: string;
  touched: boolean;
  on_its_way: boolean;
  waiting: WaitShape;
  limit: number | null;
  source: string;
  book_at: number | null;
  held: boolean;
  means: string;
  why_not: string;
  status_until: number | null;
  name: string;
  letter: string;
  id: any;
  revision: string;
  client: string;
  arrived: string;
  waited: number;
  arguments: any;
  answer: string | null;
  by: string;
  line: string;
}

/** The list of `inbox`. */
interface InboxShape {
  items: Array<ListedShape>;
}

/** What a person is writing. */
interface DraftShape {
  text: string;
  form: "message" | "result" | "error" | "text" | "tool error";
  touched: boolean;
  hold: boolean;
  by: string;
  at: string;
}

/** A text that was written and not sent. */
interface KeptTextShape {
  text: string;
  by: string;
  at: string;
}

/** What a message means, in words. `silence`: what happens without an answer. */
interface CardShape {
  method: string;
  title: string;
  what: string;
  sender: string;
  silence: string;
  note: string;
  page: string;
}

/** An exchange as `show` has it. `draft` is the text; `options`: what a person may choose from.

`remarks` are about the request; `problems` say why the last reply came back. */
interface ShownShape {
  session: string;
  number: number;
  state: "pending" | "answered" | "cancelled" | "abandoned";
  purpose: string;
  method: string;
  tool: string;
  gist: string;
  touched: boolean;
  on_its_way: boolean;
  waiting: WaitShape;
  limit: number | null;
  source: string;
  book_at: number | null;
  held: boolean;
  means: string;
  why_not: string;
  status_until: number | null;
  name: string;
  letter: string;
  id: any;
  revision: string;
  client: string;
  arrived: string;
  waited: number;
  arguments: any;
  answer: string | null;
  by: string;
  line: string;
  card: CardShape;
  draft: string;
  problems: Array<DiagnosticShape>;
  remarks: Array<DiagnosticShape>;
  kept: Array<KeptTextShape>;
  reason: string;
  options: Array<string>;
}

/** What was answered. `deliberate`: sent although the check found errors. */
interface AnswerShape {
  line: string;
  by: string;
  at: string;
  deliberate: boolean;
}

/** A request and what became of it. `line` and `id` are text: no number is read. */
interface ExchangeShape {
  session: string;
  number: number;
  state: "pending" | "answered" | "cancelled" | "abandoned";
  purpose: string;
  method: string;
  tool: string;
  gist: string;
  touched: boolean;
  on_its_way: boolean;
  waiting: WaitShape;
  way: string;
  asked: string;
  id: string;
  revision: string;
  arrived: string;
  line: string;
  reason: string;
  draft: DraftShape;
  document: string;
  problems: Array<DiagnosticShape>;
  remarks: Array<DiagnosticShape>;
  answer: AnswerShape | null;
}

/** The last line of a session that could not be read, and how many there are. */
interface UnreadableShape {
  session: string;
  letter: string;
  unreadable: number;
  seq: number;
  at: string;
  line: string;
  note: string;
  problems: Array<DiagnosticShape>;
}

/** What `forget` forgot, and what it left since a client waits: names as they are typed. */
interface ForgottenShape {
  forgotten: Array<string>;
  waiting: Array<string>;
}

/** What changed: `arrived`, `changed`, `closed`, `session`, `lines`, `everything`.

`lines`: something was said; `everything` names no exchange. Number 0 is a session. */
interface ChangeShape {
  what?: string;
  session?: string;
  number?: number;
}

/** A way to break an answer on purpose. */
interface FaultShape {
  name: string;
  title: string;
  host: string;
}

/** An answer that was saved. */
interface SavedShape {
  number: number;
  name: string;
  method: string;
  tool: string;
  form: "message" | "result" | "error" | "text" | "tool error";
  text: string;
}

/** A field of a form; see `form_fields`. `blank` is the JSON that a new item starts from.

`label` is what a person reads: the title of its schema, else its name.

A choice is its JSON and its title, which may be "". */
interface FieldShape {
  kind: "group" | "list" | "choice" | "number" | "text" | "long" | "json" | "switch" | "media" | "arms";
  name: string;
  label: string;
  help: string;
  needed: boolean;
  fields: Array<FieldShape>;
  item: FieldShape | null;
  blank: string;
  choices: Array<[string, string]>;
  arms: Array<ArmShape>;
}

/** One of several forms of an object, by its member `type`, and an empty one. */
interface ArmShape {
  type: string;
  field: FieldShape;
  blank: string;
}

/** The field that stands for a place in the message, with those inside it. */
interface FormShape {
  pointer: string;
  field: FieldShape;
}

/** What a person in the model's seat may begin with. */
interface StartShape {
  document: string;
  form: FormShape;
}

/** What the composer of a page starts from. */
interface Island {
  session: string;
  number: number;
  id: string;
  method: string;
  tool: string;
  revision: string;
  state: "pending" | "answered" | "cancelled" | "abandoned";
  document: string;
  starts: Array<StartShape>;
  template: string;
  templates: Record<string, string>;
  placeholders: Array<string>;
  options: Array<string>;
  faults: Array<FaultShape>;
  action: "pass" | "drop" | "answer";
  touched: boolean;
  at: string;
  textual: boolean;
  form: FormShape | null;
  mirror: boolean;
  saved: Array<SavedShape>;
}

type Kind = "result" | "tool error" | "error";
