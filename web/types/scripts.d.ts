// The names of the scripts' own types, known in every module of web/static.

/** The kinds of an answer between which a person chooses. */
type AnswerKind = "result" | "tool error" | "error";
type Choice = "notify" | "sound" | "keys" | "options" | "undo";
type ViewName = "text" | "form" | "json";
/** What changed the document. */
type Origin = ViewName | "fix" | "fault" | "kind" | "replaced" | "undo";

type Composer = import("../static/composer.js").Composer;
type Diagnostics = import("../static/diagnostics.js").Diagnostics;
type FormView = import("../static/formview.js").FormView;
type MessageDocument = import("../static/document.js").MessageDocument;
type Page = import("../static/page.js").Page;
type UnreadFields = import("../static/document.js").UnreadFields;

/** How an element is found: by its id, or by a selector, in a place or on the page; of a kind, or any. */
type ById = <T extends HTMLElement = HTMLElement>(name: string, kind?: new () => T) => T;
type Maybe = <T extends HTMLElement = HTMLElement>(name: string, kind?: new () => T) => T | null;
type All = <T extends HTMLElement = HTMLElement>(selector: string, place?: ParentNode, kind?: new () => T) => T[];
type First = <T extends HTMLElement = HTMLElement>(selector: string, place?: ParentNode, kind?: new () => T) => T | null;

/** What the live stream says. */
interface LiveRecord { version: number; changes: ChangeShape[] }

/** A document at one moment: what undo goes back to. */
interface Snapshot {
  text: string;
  fields: UnreadFields | null;
  touched: boolean;
  fault: AddedFault | null;
}

/** A fault that was put into a draft on purpose, and the text before it. */
interface AddedFault { name: string; before: string }

/** A field whose text is no JSON yet. */
interface Unread {
  path: Path;
  raw: string;
}

type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;
type OnChanges = (changes: ChangeShape[]) => Promise<void>;
type OnSent = (outcome: OutcomeShape, composer: Composer) => void;
type Problem = DiagnosticShape;
type ProblemAct = (problem: Problem) => void;

// JSON text, with the place of each value in it.
type Path = Array<string | number>;
interface JsonNode { type: "object" | "array" | "string" | "number" | "true" | "false" | "null"; start: number; end: number; parts?: JsonPart[] }
/** A member of an object, from where its name begins, or an item of a list. */
interface JsonPart { key: string | number; start: number; value: JsonNode }

// The box for JSON.
interface LineAndColumn { line: number; column: number }
interface Span { from: number; to: number }
interface Mark extends Span { severity: string; message: string }

/** What both editors tell. */
interface EditorActs { onChange(text: string): void; onMove(place: LineAndColumn): void; schema(): Promise<object> }

/** What both editors can do. */
interface AnyEditor {
  set(text: string): void;
  focus(): void;
  setReadOnly(on: boolean): void;
  mark(marks: Mark[]): void;
  select(span: Span): void;
  seek?(): void;
}
