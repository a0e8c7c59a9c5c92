// Made from answering/schema.py and desk/presenters/page_types.py by `make docs`.

/** A fix: each edit is where it begins, where it ends (characters), and the new text. */
interface FixShape {
  label: string;
  applicability: "safe" | "guess" | "placeholder" | "removes";
  edits: Array<[number, number, string]>;
}

/** What the check says of one place. `line` is 0 where the place is the whole.

    `field` is the place of a field whose text is no JSON; the places then count in that text. */
interface DiagnosticShape {
  code: string;
  level: "error" | "warning" | "hint" | "repaired";
  blocks: boolean;
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

/** What became of a reply. */
interface OutcomeShape {
  became: string;
  line: string;
  bytes: number;
  by: string;
  state: "pending" | "answered" | "cancelled" | "abandoned";
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

/** What a person is writing. */
interface DraftShape {
  text: string;
  form: "message" | "result" | "error" | "text" | "tool error";
  touched: boolean;
  hold: boolean;
  by: string;
  at: string;
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
  way: string;
  asked: string;
  method: string;
  id: string;
  revision: string;
  arrived: string;
  line: string;
  reason: string;
  waiting: WaitShape;
  draft: DraftShape;
  document: string;
  problems: Array<DiagnosticShape>;
  remarks: Array<DiagnosticShape>;
  on_its_way: boolean;
  answer: AnswerShape | null;
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
  hold: boolean;
  at: string;
  textual: boolean;
  form: FormShape | null;
  mirror: boolean;
  arguments: any;
  saved: Array<SavedShape>;
}

type Kind = "result" | "tool error" | "error";
