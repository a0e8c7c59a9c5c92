"""What must hold, each under an id that the tests name in their docstrings or their names.

An id is a letter or a word for its subject, and a number. `tests/test_requirements.py` fails where
a test names an id that is not here, and where nothing names one that is.
"""

from __future__ import annotations

from typing import Final

REQUIREMENTS: Final = {
    # -- Answering a client from text files, the page or the terminal
    "BRIDGE-1": (
        "In an empty folder `in.txt` is there, empty; nothing is on stdout, and stderr names "
        "the folder."
    ),
    "BRIDGE-2": (
        "A line that the client writes stands in `in.txt` byte for byte, and waits for a person."
    ),
    "BRIDGE-3": (
        "An answer in `out.txt`, over as many lines as its writer likes, goes out as one "
        "line; a warning does not stop it."
    ),
    "BRIDGE-4": "A notification is shown and never answered; an answer to it is refused.",
    "BRIDGE-5": (
        "A tool list is typed by hand and goes out with the members in the order in which "
        "they were typed."
    ),
    "BRIDGE-6": "Text that is not ASCII stands in `in.txt` as UTF-8, and not as escapes.",
    "BRIDGE-7": "An error is an answer, too: its code and its words go out as they were typed.",
    "BRIDGE-8": "An answer belongs to its own request, however many there were before.",
    "BRIDGE-9": (
        "A real client has a whole session with a person: it sees the tools, the texts and "
        "the errors."
    ),
    "BRIDGE-10": (
        "`echo '{…}' > out.txt` answers; several in a row are all sent, once, in their order."
    ),
    "BRIDGE-11": (
        "Several answers in one `out.txt` are all sent, in the order in which they stand there."
    ),
    "BRIDGE-12": "Requests that wait together can be answered in any order, each once.",
    "BRIDGE-13": (
        "A file that is created empty and filled in pieces is one answer, and nothing goes "
        "out before it is whole."
    ),
    "BRIDGE-14": "Every way of saving a file (in place, rename over it, copy) is one answer.",
    "BRIDGE-15": "What cannot be sent is kept with its reason beside it; corrected, it is sent.",
    "BRIDGE-16": (
        "A byte-order mark, UTF-16, CP932 and CRLF are read, and what was repaired is said."
    ),
    "BRIDGE-17": (
        "An id goes out with the value and the type that it came with; 0 is an id like any other."
    ),
    "BRIDGE-18": (
        "The words alone, a result alone or an error alone are enough: the envelope is added."
    ),
    "BRIDGE-19": (
        "A request that the client cancelled waits no longer; a later answer is refused, and kept."
    ),
    "BRIDGE-20": (
        "A ping is answered at once, shown as automatic, or by hand where a person wants that."
    ),
    "BRIDGE-21": (
        "When stdin is closed the server ends with status 0 within two seconds, with nothing "
        "more on stdout."
    ),
    "BRIDGE-22": "Lines of a megabyte pass in both directions.",
    "BRIDGE-23": (
        "A line that is no message is shown; the server goes on, and nothing is answered that"
        " nobody asked."
    ),
    "BRIDGE-24": "Two servers at once have a folder each; neither touches what is the other's.",
    "BRIDGE-25": "It works with absolute paths from any folder and without a PATH.",
    "BRIDGE-26": (
        "A refused or unanswered `server/discover` is followed by the handshake on the same pipe."
    ),
    # -- Streamable HTTP
    "HTTP-1": (
        "Headers that disagree with a body of 2026-07-28 get the error -32020; a person may answer "
        "all the same."
    ),
    "HTTP-2": "A text that HTTP cannot carry is written in base64, and read from it.",
    "HTTP-3": "Arguments marked with `x-mcp-header` are compared with their headers.",
    "HTTP-4": "The status of an answer is the one that its error and its version ask for.",
    "HTTP-5": "Sessions, streams and methods of HTTP are those of the request's version.",
    "HTTP-6": "What is wrong as HTTP, or is no message, is refused with a status and a sentence.",
    "HTTP-7": "A message goes to the session as it was written.",
    "HTTP-8": "An answer is byte for byte the same over stdio, as a JSON body and in an event.",
    "HTTP-9": (
        "Nothing is sent for ten seconds, so the status is open; then a stream begins and says "
        "something every fifteen."
    ),
    "HTTP-10": "A client that hangs up has cancelled in 2026-07-28, and in no other version.",
    "HTTP-11": "A client that comes again gets what it missed, from the transcript.",
    "HTTP-12": "What belongs to no request goes to the stream, or the subscription, that wants it.",
    "HTTP-13": "Programs that call themselves the same do not get each other's answers.",
    "HTTP-14": "The process ends in order when it is told to, and stdout stays empty.",
    "HTTP-15": "Pages of strangers, missing keys and other paths are refused with a status.",
    "HTTP-16": "What is large, slow or endless harms neither the server nor its other clients.",
    "HTTP-17": "The official clients have whole sessions with a person over HTTP.",
    "HTTP-18": "The official conformance suite passes all that it requires of a server.",
    "HTTP-20": "What carries an answer is broken on purpose, for one client alone.",
    "HTTP-19": "A session outlives its process: nothing is lost, and nothing comes twice.",
    "HTTP-23": "A client of 2026-07-28 that asks again gets the answer, from any process.",
    "HTTP-24": "Before a client over a pipe, a session that its remote server ended begins anew.",
    "HTTP-25": "A server of the official TypeScript SDK is spoken to over HTTP, by client and tap.",
    "HTTP-26": "Where a server wants OAuth, or refuses in JSON, that is said, and what to do.",
    "HTTP-27": "A header that may stand there once, and is there twice, is refused with 400.",
    "HTTP-28": "What HTTP says beside a served session is recorded, and exported as it was.",
    "HTTP-32": "What HTTP says of a line is no row of the history: it is in the row of the line.",
    "HTTP-21": "A server of the official Python SDK is spoken to over HTTP as over a pipe.",
    "HTTP-31": "Half a request is none; what RFC 9110 and 9112 let a client say is understood.",
    "HTTP-30": "An answer book keeps what was said, and so plays tasks; the suite passes them.",
    "HTTP-22": "The official conformance suite passes all of a client that needs no sign-in.",
    # -- A capture between a client and a server
    "CAPTURE-1": "A tap is put before any server command, and the client notices nothing.",
    "CAPTURE-2": (
        "The log has one line a message, with time and direction; its JSON is byte for byte "
        "what passed."
    ),
    "CAPTURE-3": "What the server writes to stderr is logged as ERR and never reaches stdout.",
    "CAPTURE-4": (
        "The readable form of a log is the same whether it is made from the log or from a "
        "transcript."
    ),
    "CAPTURE-5": "Lines of any length pass and are recorded whole, and so does the next one.",
    "CAPTURE-6": "When the server ends, the tap ends with its status within two seconds.",
    "CAPTURE-7": "A session that a person answered can be written in the format of the capture.",
    "CAPTURE-8": (
        "A person plays a server of two requests at once; what is only listed is never run."
    ),
    "CAPTURE-9": "A comma after the last entry of a configuration is named with its line.",
    "CAPTURE-10": "Two captures in the same second have two logs.",
    # -- The client's seat
    "G1": "The log of the example client has its lines in their order and format.",
    "G2": "`ping` can be typed, and its answer is shown.",
    "G3": "A method is asked, an unknown word gets help, the end of input is a clean end.",
    "G4": "Arguments are checked with the tool's schema; they can be sent wrong all the same.",
    "G5": "A person answers in the place of a server, and the client cannot tell.",
    "G6": "One protocol code runs over memory and over a child process.",
    "G7": "Of two requests in flight each caller gets its own answer.",
    "G8": "A strict client asks for nothing that the server did not declare.",
    "G9": "A server that never answers is given up after the time set, and told so.",
    "G10": "Requests of the server are answered: roots, ping, log messages.",
    "G11": "A child gets only the variables of the environment that it needs.",
    "G12": "An entry with an address only is a server like any other.",
    # -- A server and a host that are known from articles: the dice
    "DICE-1": (
        "`initialize` is answered with the same id, a revision that is served, and what is offered."
    ),
    "DICE-2": "The list has the one tool, exactly.",
    "DICE-3": "A roll is one text with a number from 1 to the sides.",
    "DICE-4": "What is wrong or too early gets an error of the right code, not silence.",
    "DICE-5": "Each mistake of the article's server is found, and no other.",
    "DICE-6": (
        "`args` in the place of `arguments` is shown beside the request, which can still be "
        "answered."
    ),
    "DICE-7": "A child is ended in order: stdin closed, then a signal, then a harder one.",
    "DICE-8": (
        "The chat shows text, the call and the answer; the model gets the call and its result."
    ),
    "DICE-9": "A person can be the model, without any key.",
    "DICE-10": "A person with real dice sends the same lines as the program.",
    # -- The loop of a host
    "LOOP-1": (
        "The configuration is read from where it was said to be; what is missing or wrong in "
        "it is said in one sentence."
    ),
    "LOOP-2": (
        "Tools are offered to the model under the server's name and their own, each with its "
        "schema."
    ),
    "LOOP-3": "A call goes to its own server alone, under the tool's own name.",
    "LOOP-4": "Calls follow each other until the model answers in words, each turn with its role.",
    "LOOP-5": (
        "An overloaded service is asked again after 1, 2, 4, 8 and 16 seconds, then given up."
    ),
    "LOOP-6": "Any other error is told at once.",
    "LOOP-7": "A failed call becomes a result that the model reads, and the loop goes on.",
    "LOOP-8": "Two calls in one turn have their results in one message.",
    "LOOP-9": "A call of what does not exist is answered; a name may hold the separator.",
    "LOOP-10": "The texts of a result are joined; what is no text is named.",
    "LOOP-11": "A model that calls without end is stopped at a limit.",
    "LOOP-12": "The person at the host calls, answers in the tool's place, or refuses.",
    "LOOP-13": "In the end no child is left.",
    "LOOP-14": "The next prompt knows what was said before.",
    # -- Mistakes in an answer that are found and explained
    "E01": "`capabilities` is missing.",
    "E02": "The id is that of no request that waits.",
    "E03": "`args` stands in the place of `arguments`.",
    "E04": "`input_schema` stands in the place of `inputSchema`.",
    "E05": "`content` is no list.",
    "E06": "`result` is no object.",
    "E07": "The text stands beside `content` and not in it.",
    "E08": "A notification is answered.",
    "E09": "`jsonrpc` is missing, or a number.",
    "E10": "There is a result and an error.",
    "E11": "The error is a text, or has no message.",
    "E12": "The code of the error is a text.",
    "E13": "There is a member at the top that does not belong there.",
    "E14": "The answer goes over several lines.",
    "E15": "The text begins with a byte-order mark.",
    "E16": "The text is UTF-16.",
    "E17": "The text is CP932, as Japanese editors of Windows write it.",
    "E18": "The text is JavaScript or Python, or has what an input method typed: almost JSON.",
    "E19": "An item of `content` has no type, or one that does not exist.",
    "E20": "`tools` is no list.",
    "E21": "The answer is a batch.",
    "E22": "`initialize` is answered with a revision that does not exist or was not offered.",
    "E23": "Something that is no message would go to stdout.",
    "E24": "The id is null although a request waits.",
    "E25": "A name stands twice, a number is none, or an id is of a wrong type.",
    "E26": "The answer comes after a cancellation, or a second time.",
    "W01": "`capabilities` stands inside `serverInfo`.",
    "W02": "A capability is written as no revision has it.",
    "W03": "An error is sent where a result with `isError` would reach the model.",
    "W04": "Another revision is answered than was asked for.",
    "W05": "The server gives itself a name that is a client's.",
    "W06": "The id is a text for a number.",
    "W07": "A list is answered that was not declared.",
    "W08": "A call is early, of an unknown tool, or against the declared schema.",
    "W09": "The order of members and white space carry no meaning.",
    "W10": "An entry has an address and no command.",
    "W11": "A method is misspelled.",
    # -- The page
    "U01": "A message is in the page within a second, without loading it anew.",
    "U02": "A call is answered with a sentence and one chord; one line goes out, with its id.",
    "U03": "Every id goes out byte for byte.",
    "U04": "Every template can be sent untouched; a call wants an answer of its own.",
    "U05": (
        "A mistake is named at its line, the reason stands at Send, and its fix makes the "
        "text valid."
    ),
    "U06": (
        "What an input method typed is named in its reader's language and mended in one "
        "click; texts stay."
    ),
    "U07": "Whatever arrives, what is being written stays: text, caret, focus, scrolling.",
    "U08": "A cancellation locks Send and leaves the text.",
    "U09": (
        "After a reload, or when both have started again, the draft and what was missed are there."
    ),
    "U10": "Of two people at one message one answer goes out; the other keeps the draft.",
    "U11": "However Send is pressed, one line goes out.",
    "U12": "Within the time for Undo nothing goes out.",
    "U13": "The time waited and the time left are shown, and spoken of seldom.",
    "U14": "The client is kept waiting where that helps; where it does not, the reason is said.",
    "U15": (
        "What the book will answer is counted down, marked, and gives way to a person who writes."
    ),
    "U16": "A new message is announced once, however many tabs there are.",
    "U17": "Everything works with the keyboard, and the focus can be seen.",
    "U18": "While an input method composes, no key sends and none acts.",
    "U19": "Single keys can be switched off.",
    "U20": "No view has an accessibility fault, in both languages and themes.",
    "U21": "Every view fits from a phone to a desktop that is magnified.",
    "U22": "The projector's view is large, has contrast, and follows the wire.",
    "U23": "Any number of tabs is up to date with few streams.",
    "U24": "Nothing is fetched from elsewhere, and an answer can be sent without a script.",
    "U25": "What a stranger sent is shown as text, however hostile, and the page stays quick.",
    # -- The pipe and the files
    "T1": "No limit on a line's length ends the conversation.",
    "T2": "A tap has no such limit either.",
    "T3": "The end of stdin ends the server, whatever waits.",
    "T4": "A tap passes on the end of its input and a last line without its end.",
    "T5": "Everything that a server wrote before it ended arrives.",
    "T6": "Each server has text files of its own.",
    "T7": "The record of a session has a name of its own.",
    "T8": (
        "`out.txt` is read when it is whole, however it is written, and nothing of it is destroyed."
    ),
    "T9": "A request is answered once, ever.",
    "T10": "What goes out is one line and one message.",
    "T11": "The page listens on this computer only and wants to know who asks.",
    "T12": "What a stranger sent never becomes part of a page's code.",
    "T13": "What is over waits no longer, whatever the order of answers and cancellations.",
    "T14": "A new request takes nothing from those that wait.",
    "T15": "A ping is answered while others wait.",
    "T16": "A time limit never becomes an answer that nobody gave.",
    "T17": "Ids of all kinds are told apart, and one that is used twice is noticed.",
    "T18": "JSON is shown and sent as it was written: numbers, escapes, order.",
    "T19": "A broken line is a line of the record, and can be sent on purpose.",
    "T20": "A repeated request is tied to its first one by its state and not by its id.",
    "T21": "Nothing but messages is ever written to stdout.",
    "T22": "After a cancellation nothing more is written for that request.",
    # -- The door of the page
    "DOOR-1": "A foreign `Host` is refused, with a body that tells nothing.",
    "DOOR-2": "So it is on every route there is.",
    "DOOR-3": "Only the legal spellings of this computer pass.",
    "DOOR-4": "A crooked target is refused on the path as it came.",
    "DOOR-5": "A POST of another origin is refused.",
    "DOOR-6": "An opaque origin is refused.",
    "DOOR-7": "Origins are compared as a whole.",
    "DOOR-8": "A POST must say where it comes from.",
    "DOOR-9": "No stream opens for another site.",
    "DOOR-10": "No WebSocket opens on any path.",
    "DOOR-11": "A preflight allows nothing.",
    "DOOR-12": "A POST is JSON and says so, or it is a form of the page.",
    "DOOR-13": "A wrong token, whatever it is made of, is 401.",
    "DOOR-14": (
        "A login address works once and for five minutes, and looking at it does not use it up."
    ),
    "DOOR-15": "Wrong codes end the code.",
    "DOOR-16": "A cookie opens its own desk only.",
    "DOOR-17": "A cookie is for the browser alone, for this site alone.",
    "DOOR-18": "No secret is in an argument list, an environment or a log.",
    "DOOR-19": "No address but this computer's is listened on.",
    "DOOR-20": "A variable of the environment cannot open it either.",
    "DOOR-21": "The page cannot be framed.",
    "DOOR-22": "Nothing of it can be read by another site.",
    "DOOR-25": "The file with the token can be read by its owner only.",
    "DOOR-26": "After logging out nothing more is told.",
    # -- What is shown
    "B1": "Markup in a message is shown literally.",
    "B2": "An id never becomes part of the page's structure.",
    "B3": "Nothing that a message names is fetched.",
    "B4": "Control characters never reach a terminal.",
    "B5": "Hidden and reversed characters are made visible.",
    "B6": "What is huge is cut, and can be seen whole.",
    "B7": "What a message says is always told from what the page says.",
    "B8": "A line break in a value makes no event of its own.",
    "B9": "A number is shown and sent as it was written.",
    # -- Lines from a peer
    "LINE-1": "What is no JSON is kept as it came, and reported to its sender once at most.",
    "LINE-2": "Bytes that are no text are kept as well.",
    "LINE-3": "Depth has a limit and never ends the program.",
    "LINE-4": "A number of any length is read or refused.",
    "LINE-5": "What is no number in JSON is noticed.",
    "LINE-6": "A name that stands twice is noticed.",
    "LINE-7": "Half of a surrogate pair goes out as an escape.",
    "LINE-8": "A batch is taken in the one revision that has it.",
    "LINE-9": "Strange ids and answers that nobody waits for change nothing.",
    "LINE-10": "A line without end takes a bounded amount of memory, and the next one is read.",
    "LINE-11": (
        "Each mistake in an answer is refused with its place and its fix, and the text stays."
    ),
    "LINE-12": "An answer to what is over is refused and kept.",
    "LINE-13": "Whatever a library prints, stdout stays clean.",
    "LINE-14": "A schema from a stranger fetches nothing and takes bounded time.",
    # -- The folder
    "FOLDER-1": "A link, a pipe or a device in the place of a file is refused and blocks nothing.",
    "FOLDER-2": "A link in the place of the folder is refused.",
    "FOLDER-3": "A folder that others can write to is refused, with the command that mends it.",
    "FOLDER-4": "No name from outside leads out of the folder.",
    "FOLDER-5": "Encodings that can be told are read; others are refused with advice.",
    "FOLDER-6": "What is written in pieces is one text.",
    "FOLDER-7": "Files that editors leave behind are none of ours.",
    "FOLDER-8": "A file that is too large is not read.",
    "FOLDER-9": "A file that cannot be read now is read later.",
    "FOLDER-10": "The same text saved again is tried again.",
    # -- Too much of everything
    "FLOOD-1": "Many idle connections keep nobody from the page.",
    "FLOOD-2": "A reader that does not read is dropped, and can come back.",
    "FLOOD-3": "A flood of requests is refused in time, and what waits goes on waiting.",
    "FLOOD-4": "Strange ranges cost nothing.",
    "FLOOD-5": "Guessing has an end.",
    "FLOOD-6": "A packed body is refused.",
    # -- When something fails
    "FAILURE-1": "Whatever is killed, everything that was acknowledged is there afterwards.",
    "FAILURE-2": "A host that ends ends the server within two seconds.",
    "FAILURE-3": "A host that was killed ends the server as well.",
    "FAILURE-4": (
        "A desk that is killed leaves the servers running, and finds everything when it is back."
    ),
    "FAILURE-5": "An answer that was accepted goes out once, whatever dies in between.",
    "FAILURE-7": (
        "A full disk is said to the client and to the person, and leaves nothing half-written."
    ),
    "FAILURE-8": "A failed write is undone.",
    "FAILURE-9": (
        "A folder that is gone or cannot be written is said, and made again where that is possible."
    ),
    "FAILURE-10": "A torn record spoils nothing beside it, and is kept.",
    "FAILURE-11": "What is still being typed is not called wrong.",
    "FAILURE-12": "Whatever an editor does to save, the name counts.",
    "FAILURE-13": "Being woken twice sends nothing twice.",
    "FAILURE-14": "Where changes are not announced, looking now and then finds them.",
    "FAILURE-15": "So it is where announcements have run out.",
    "FAILURE-16": (
        "A file that another program holds is tried again; systems without locks or links "
        "work as well."
    ),
    "FAILURE-17": "Encodings and line ends of every system are read.",
    "FAILURE-18": "A clock that jumps changes no order.",
    "FAILURE-19": "Servers that start at once do not mix.",
    "FAILURE-20": "One desk serves an inbox; who is alive is told by a lock.",
    "FAILURE-21": "A stale note of a desk is not believed.",
    "FAILURE-22": "A port that is taken is replaced, and the note says by which.",
    "FAILURE-23": "Of two answers one goes out, and the loser is told who was first.",
    "FAILURE-24": "Who wrote and left keeps nobody away for long.",
    "FAILURE-25": "A cancellation while somebody writes stops the sending, and the text stays.",
    "FAILURE-26": "A limit is shown before it is reached, and after.",
    "FAILURE-27": "A client that does not read is said to be that; nobody else is held up.",
    "FAILURE-28": "A stderr that nobody reads holds nothing up.",
    "FAILURE-30": "A stream that is dead or slow is noticed, and goes on where it ended.",
    "FAILURE-31": "A desk that is ended ends.",
    "FAILURE-32": "A hidden tab holds no stream.",
    "FAILURE-33": "Behind a proxy that keeps streams back the page asks now and then.",
    "FAILURE-34": "A dead line is told from a quiet one.",
    "FAILURE-38": "A record of another version is passed over.",
    "FAILURE-40": "It works where the environment names no encoding.",
    # -- The check
    "K1": "The check never raises, and its callers survive it if it did.",
    "K2": "A schema from a peer takes bounded time and memory.",
    "K3": "A bulk fix removes nothing that was typed and invents no answer.",
    "K4": "A whole answer in the middle of other text is found.",
    "K5": "What a client would refuse in a date, a number or a root is an error.",
    "K6": "The fields of a form that asks the user are checked.",
    "K7": "Extensions are known in every revision that can have them.",
    "K8": "A warning at a method leaves the check of its parameters on.",
    "K9": "What an input method for Japanese types is mended.",
    "K10": "The time of the check grows with the text and not faster.",
    "K11": "A placeholder never goes out unnoticed.",
    "K12": "Every link to the specification leads to a page that exists.",
    "K13": "A value that is no answer gets the sentence and the fix that fit it.",
    "K14": "What the revision of 2026-07-28 and its extensions brought is known.",
    "K15": "Requests, notifications and whole transcripts can be checked, with an exit status.",
    "K16": "Each sentence says what is wrong and what to do, in one vocabulary, in both languages.",
    # -- Text files and the server process
    "F1": "The book never answers over a person who writes; what it does is said beside the files.",
    "F2": "Progress can be switched off, and a person's own ends ours.",
    "F3": "What follows a right answer is dropped with a note, and the answer is said to be sent.",
    "F4": "Everything that the check knows is told in every seat.",
    "F5": "Anything can be sent wrong on purpose, from every seat, and the request stays open.",
    "F6": "Hints fit what they stand under, and a configuration is written where its reader looks.",
    # -- Exports and replay
    "X1": "A secret is taken out wherever it occurs, and what can be run still runs.",
    "X2": "A refused probe is not part of an exported test.",
    "X3": "A broken answer is replayed as it was recorded.",
    "X4": "An exported server and test are complete, or say what is missing.",
    "X5": "A cell of a table never becomes a formula.",
    # -- The other seats
    "S1": "A probe loses no server that is slow to start.",
    "S2": "A key goes only to the service that it belongs to.",
    "S3": "A form is checked where it is typed, and can always be left.",
    "S4": (
        "Every question names its server; every page of a list is known; progress lengthens "
        "patience."
    ),
    "S5": "The turn of a person who is the model is checked before it is sent.",
    "S6": "A slow server holds up no other.",
    "S7": "What happens on the wire is told once, short, and with what to do.",
    "S8": "One call, one prompt or one resource can be asked for from a script.",
    # -- Safety and load
    "A1": "Another server of this computer gets nothing that it could use.",
    "A2": "An idle server that waits costs next to nothing, and is rung when there is a reply.",
    "A3": "An export shown at a terminal acts on nothing there.",
    "A4": "Only regular files are replaced, with owner and mode kept.",
    "A5": "What strangers send has a bound of time and size, and so have logs.",
    "A6": "An event costs no more with many waiting than with few.",
    "A7": "Odd input, odd clocks and odd files end in a sentence and lose nothing.",
    # -- Real hosts
    "H1": "A host that does not wait has the tools in its first turn.",
    "H2": "A limit is written only where the host's own is shorter.",
    "H3": "The person sees the limit that holds.",
    "H4": "What is known of a host is dated and measured.",
    "H5": "A limit that was learned belongs to one client, and can be unlearned.",
    "H6": "What a client gave up waits no longer.",
    "H7": "What is handed in goes out in the order in which it was handed in.",
    "H8": "What a host asks before it starts a server is said where its entry is written.",
    "H9": "What the book will do or did stands beside the text files.",
    # -- Lesson, demo and questions of an agent
    "L1": "The demo's host reads every broken answer and goes on.",
    "L2": "The demo calls what was offered.",
    "L3": "The demo and the commands say what they did, in the reader's language, once.",
    "L4": "The JSON editor is there after the documented commands.",
    "L5": "The lesson has commands for every system.",
    "L6": "A question shows what to know, and is answered with one press.",
    "L7": "A person is told that something waits, without the page open.",
    "L8": "What was typed can be forgotten; pictures and files can be answered.",
    "L9": "The documents begin with their words, and are found by symptom.",
    # -- Beside other tools
    "P1": "A line that passed a tap is recorded, whatever is killed.",
    "P2": "A tap tells what the check knows.",
    "P3": "A replay gives back everything that was recorded, in its place.",
    "P4": "Who was first is said without a contradiction.",
    "P5": "A call that a rule answers is recorded before it is answered, and quick.",
    "P6": "Every server of every host is wrapped and unwrapped at once.",
    # -- One idea, written once
    "R1": "A session has one letter in every seat, and keeps it.",
    "R2": "A seat and an observer know the same of a conversation.",
    "R3": "What a user fills in is checked with all of its schema.",
    "R4": '"Apply every fix" gives one result in every seat.',
    "R5": "A plain answer becomes the same message in every seat.",
    "R6": "Bytes become text in one way in every seat.",
    "R7": "A message is decoded once, however often it is looked at.",
    "R8": "A pattern or schema that cannot be checked is said to be that.",
    "R9": "A diagnostic has the fields that its sentence needs, in every language.",
    "R10": "A user's TOML is edited in every layout, and the rest of it stays.",
    "R11": "The page about the interface for programs is made from the interface.",
    "R12": "Every requirement is here, and is proved by a test.",
    # -- What is typed on the page
    "D1": "A form sends what stands in its fields, or says at the field why not.",
    "D2": "A placeholder is shown as one, and is never sent.",
    "D3": "What replaces a text that a person wrote can be undone, in every view.",
    "D4": "Try it now is a lesson: numbered steps, what the host understood, success at the end.",
    "D5": "Progress is one row and one arrow, and moves nothing.",
    "D6": "A long question can be read whole, as Markdown and as text.",
    "D7": "A held answer is named as one, with what was asked, and can be read.",
    "D8": "Changing a held request and answering it are two texts, and one choice.",
    "D9": "The history is live, newest first over all sessions, and has dates.",
    "D10": "The picture names who talks, in every seat.",
    "D11": "The projector chooses a session, and names each answer.",
    "D12": "Why Send is blocked stands beside it and at its place, with its fix.",
    "D13": "Rules and saved answers are made, seen, changed, ordered and removed on the page.",
    "D14": "Whoever types on after Send loses no letter.",
    "D15": "What was answered elsewhere shows its answer, and offers the next request.",
    "D16": "The focus stays where a person works, and what is wrong is said there.",
    "D17": "Each seat of a play has its own door, and is asked in words.",
    "D18": "What a server offers is a switch a line, and what is filled in is said to be.",
    "D19": "An answer is a list of texts, pictures, sounds, links and resources, shown as such.",
    "D20": "Arguments are a tree, each with what the tool's own schema says of it.",
    "D21": "In the quiet view of a session stand the question, the box and Send alone.",
    "D22": "In the client's seat a tool is a form; prompts and resources are picked.",
    # -- What is published
    "SHIP-1": "The wheel and the source distribution are the same bytes whoever builds them.",
    "SHIP-2": "The version is written once, and everything that is published says it.",
    "SHIP-3": (
        "The wheel, with nothing but what it declares to need, plays the demo, shows the page and "
        "says what to paste, without a network and without the source."
    ),
    "SHIP-4": (
        "`check --sarif` gives code review each problem of any number of files at its line and "
        "column, with a link to where it is explained."
    ),
    "SHIP-5": (
        "Another repository checks its recorded messages with a step on GitHub or before each "
        "commit: the exit status, and a note at each mistake."
    ),
    "SHIP-6": (
        "Each kind of mistake is explained with a wrong and a right example that the check has "
        "judged, and with the sentence of the specification."
    ),
    "SHIP-12": "`humanmcp` alone says what runs and waits here, and four things to do now.",
    "SHIP-14": "A small moving picture in the README shows how a question is answered in the page.",
    "SHIP-13": "`doctor` says of each host here which file it reads and whether its entry starts.",
    "SHIP-11": (
        "Workflows test every system and Python that is named and publish what a tag names, with "
        "actions that nobody can exchange; the container serves without rights."
    ),
    "SHIP-10": (
        "The site has every page of the manual and a page for each mistake, in both languages, "
        "without a dead link and without anything from elsewhere."
    ),
    "SHIP-9": "How hosts behave is data, agrees with what the server knows, and can be measured.",
    "SHIP-8": (
        "The registry, bundles, plugins and install links start this version of the server with "
        "the entry that `humanmcp config` writes."
    ),
    "SHIP-7": "bash, zsh and fish complete every command, flag and value; `man humanmcp` has them.",
}

_MCP: Final = "https://modelcontextprotocol.io/specification/2025-11-25/"
_JSON_RPC: Final = "https://www.jsonrpc.org/specification"

SPECIFICATION: Final = {
    "BRIDGE-19": f"{_MCP}basic/utilities/cancellation",
    "T22": f"{_MCP}basic/utilities/cancellation",
    "BRIDGE-20": f"{_MCP}basic/utilities/ping",
    "T21": f"{_MCP}basic/transports#stdio",
    "T10": f"{_MCP}basic/transports#stdio",
    "BRIDGE-21": f"{_MCP}basic/lifecycle#shutdown",
    "DICE-7": f"{_MCP}basic/lifecycle#shutdown",
    "DICE-1": f"{_MCP}basic/lifecycle#version-negotiation",
    "W04": f"{_MCP}basic/lifecycle#version-negotiation",
    "E22": f"{_MCP}basic/lifecycle#version-negotiation",
    "E01": f"{_MCP}basic/lifecycle#initialization",
    "E08": f"{_JSON_RPC}#notification",
    "E02": f"{_JSON_RPC}#response_object",
    "E10": f"{_JSON_RPC}#response_object",
    "E11": f"{_JSON_RPC}#error_object",
    "E12": f"{_JSON_RPC}#error_object",
    "E05": f"{_MCP}server/tools#tool-result",
    "E19": f"{_MCP}server/tools#tool-result",
    "E04": f"{_MCP}server/tools#tool",
    "W03": f"{_MCP}server/tools#error-handling",
    "U14": f"{_MCP}basic/utilities/progress",
    "F2": f"{_MCP}basic/utilities/progress",
    "K6": f"{_MCP}client/elicitation",
    "LINE-8": "https://modelcontextprotocol.io/specification/2025-03-26/basic/transports",
}
"""Where the specification says so: MCP's newest revision with a handshake, or JSON-RPC 2.0."""
