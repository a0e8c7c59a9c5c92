"""The objects of MCP as one table: the members of each, by version.

An entry is an object. A line is a member: required (`must`) or optional (`may`), its kind, and its
versions. `methods.py` says which object belongs to which method. The source is the schema page of
each version under `versions.SPEC`.

    "Tool": shape(
        name=must(TEXT),                                  always, text
        title=may(TEXT, since=R2025_06),                  came with 2025-06-18
        inputSchema=must("InputSchema"),                  always, the object of that name
        execution=may(…, since=R2025_11, until=R2025_11)  was in one version only

A fix inserts the `example` of a missing member. A usual draft also has the optional members with an
`example`, and builds objects from the examples of their members (`examples.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from humanmcp import __version__
from humanmcp.protocol.diagnostics import kinds
from humanmcp.protocol.tables.types import (
    ANY_OBJECT,
    ANYTHING,
    BASE64,
    FROM_ZERO,
    MIME,
    MOMENT,
    NUMBER,
    SHARE,
    TEXT,
    TRUTH,
    URI,
    WHOLE,
    ByMember,
    ByPresence,
    ListOf,
    MapOf,
    Member,
    OneOf,
    OneOrMany,
    OrNull,
    Shape,
    Text,
    cached,
    field,
    loose,
    may,
    must,
    notice,
    paged,
    params,
    result,
    retried,
    shape,
)
from humanmcp.protocol.tables.versions import (
    ALL,
    META_CAPABILITIES,
    META_CLIENT,
    META_LOG_LEVEL,
    META_RELATED_TASK,
    META_SERVER,
    META_SUBSCRIPTION,
    META_VERSION,
    R2024_11,
    R2025_03,
    R2025_06,
    R2025_11,
    R2026_07,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


ROLE: Final = OneOf(("assistant", "user"))
LOG_LEVEL: Final = OneOf(
    ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
)
TASK_STATUS: Final = OneOf(("working", "input_required", "completed", "failed", "cancelled"))
ASKS: Final = ByMember(
    "method",
    {
        "elicitation/create": "AskUser",
        "sampling/createMessage": "AskModel",
        "roots/list": "AskRoots",
    },
)
"""The requests of an `input_required` result (2026-07-28)."""
TOKEN: Final = Text("token")
"""A string or an integer: ids and progress tokens."""

META: Final = may("Meta", since=R2025_06)
ICONS: Final = may(ListOf("Icon"), since=R2025_11)
TITLE: Final = may(TEXT, since=R2025_06)
INSTRUCTIONS: Final = may(
    TEXT,
    example="A person answers every call. Send a progressToken and allow several minutes per call.",
)

CONTENT: Final = ByMember(
    "type",
    {
        "text": "TextContent",
        "image": "ImageContent",
        "audio": "AudioContent",
        "resource_link": "ResourceLink",
        "resource": "EmbeddedResource",
    },
)
SAMPLED: Final = ByMember(
    "type",
    {
        "text": "TextContent",
        "image": "ImageContent",
        "audio": "AudioContent",
        "tool_use": "ToolUseContent",
        "tool_result": "ToolResultContent",
    },
)
FORM_FIELD: Final = ByMember(
    "type",
    {
        "string": "StringField",
        "number": "NumberField",
        "integer": "NumberField",
        "boolean": "BooleanField",
        "array": "ListField",
    },
    unknown_value=kinds.form_not_flat,
)
CONTENTS: Final = ByPresence({"text": "TextResourceContents", "blob": "BlobResourceContents"})
_MOMENT: Final = "2026-11-20T10:30:00Z"
_ASKED: Final = {"question": {"type": "string", "description": "What the person should answer"}}


def _described(title: str, description: str) -> Mapping[str, Member]:
    """Describe the title and description that all listed entries have, with an example."""
    return {
        "title": may(TEXT, since=R2025_06, example=title),
        "description": may(TEXT, example=description),
    }


_NOTED: Final[Mapping[str, Member]] = {"annotations": may("Annotations"), "_meta": META}
_LISTED: Final[Mapping[str, Member]] = {"icons": ICONS, "_meta": META}
_RESOURCE: Final[Mapping[str, Member]] = {
    "uri": must(URI, example="file:///notes/plan.md"),
    "name": must(TEXT, example="plan.md"),
    **_described("Plan", "The plan for this week"),
    "mimeType": may(MIME, example="text/markdown"),
    "size": may(WHOLE),
    "annotations": may("Annotations"),
    **_LISTED,
}
_EXTRAS: Final[Mapping[str, Member]] = {
    "experimental": may(MapOf(ANY_OBJECT)),
    "extensions": may(MapOf(ANY_OBJECT, names="extension id")),
}
_FORM: Final[Mapping[str, Member]] = {
    "mode": may(TEXT, since=R2025_11),
    "message": must(TEXT, example="…"),
    "requestedSchema": must("FormSchema"),
}
_URL: Final[Mapping[str, Member]] = {
    "mode": must(TEXT),
    "message": must(TEXT, example="…"),
    "url": must(URI, example="https://example.com/"),
}
_TURN: Final[Mapping[str, Member]] = {
    "messages": must(ListOf("SamplingMessage")),
    "maxTokens": must(WHOLE, example=200),
    "systemPrompt": may(TEXT),
    "modelPreferences": may("ModelPreferences"),
    "includeContext": may(OneOf(("none", "thisServer", "allServers"))),
    "temperature": may(NUMBER),
    "stopSequences": may(ListOf(TEXT)),
    "metadata": may(ANY_OBJECT),
    "tools": may(ListOf("Tool"), since=R2025_11),
    "toolChoice": may("ToolChoice", since=R2025_11),
}
_WISH: Final = may("TaskWish", since=R2025_11, until=R2025_11)
"""2025-11-25: a request may ask for a task as its response."""
_TASK: Final[Mapping[str, Member]] = {
    "taskId": must(TEXT, example="0b9a2c54-7c7e-4f5d-8a55-6f6f3f0f7d21"),
    "status": must(TASK_STATUS, example="working"),
    "statusMessage": may(TEXT, example="A person is working on it."),
    "createdAt": must(MOMENT, example=_MOMENT),
    "lastUpdatedAt": must(MOMENT, example=_MOMENT),
    "ttl": must(OrNull(WHOLE), until=R2025_11, example=60000),
    "pollInterval": may(WHOLE, until=R2025_11, example=5000),
    "ttlMs": must(OrNull(WHOLE), since=R2026_07, example=60000),
    "pollIntervalMs": may(WHOLE, since=R2026_07, example=5000),
}
_TASK_STATE: Final[Mapping[str, Member]] = {
    **_TASK,
    "result": may(ANY_OBJECT, since=R2026_07),
    "error": may("Error", since=R2026_07),
    "inputRequests": may(MapOf(ANY_OBJECT), since=R2026_07),
}
"""A task with what its status calls for: "Each notification carries a complete `DetailedTask` for
the current status, identical to what `tasks/get` would have returned at that moment."

https://github.com/modelcontextprotocol/ext-tasks/blob/main/specification/2026-07-28/tasks.md
"""

_BELONGS_TO: Final[Mapping[str, Member]] = {
    META_SUBSCRIPTION: may(TOKEN, since=R2026_07),
    META_RELATED_TASK: may("RelatedTask", since=R2025_11, until=R2025_11),
}
"""The members of `_meta` that name the subscription or the task of a message."""


def _meta(members: Mapping[str, Member]) -> Shape:
    return Shape(members, open=True, names="meta key")


SHAPES: Final[Mapping[str, Shape]] = {
    # -- common objects -----------------------------------------------------------------------
    ANY_OBJECT: loose(),
    "Meta": _meta({}),
    "ResultMeta": _meta({META_SERVER: may("Implementation", since=R2026_07), **_BELONGS_TO}),
    "RequestMeta": _meta(
        {
            "progressToken": may(TOKEN),
            META_VERSION: must(TEXT, since=R2026_07, example=R2026_07),
            META_CAPABILITIES: must("ClientCapabilities", since=R2026_07, example={}),
            META_CLIENT: may("Implementation", since=R2026_07),
            META_LOG_LEVEL: may(LOG_LEVEL, since=R2026_07),
            "traceparent": may(Text("traceparent"), since=R2026_07),
        }
    ),
    "NoticeMeta": _meta({**_BELONGS_TO, "traceparent": may(Text("traceparent"), since=R2026_07)}),
    "RelatedTask": shape(taskId=must(TEXT)),
    "Implementation": shape(
        name=must(TEXT, example="humanmcp"),
        title=may(TEXT, since=R2025_06, example="Human at the keyboard"),
        version=must(TEXT, example=__version__),
        description=may(TEXT, since=R2025_11, example="Every answer is typed by a person."),
        websiteUrl=may(URI, since=R2025_11),
        icons=ICONS,
    ),
    "Icon": shape(
        R2025_11,
        src=must(Text("icon"), example="https://example.com/icon.png"),
        mimeType=may(MIME),
        sizes=may(ListOf(TEXT)),
        theme=may(OneOf(("dark", "light"))),
    ),
    "Annotations": shape(
        audience=may(ListOf(ROLE)),
        priority=may(SHARE),
        lastModified=may(MOMENT, since=R2025_06),
    ),
    # -- handshake: initialize, server/discover --------------------------------------------------
    "InitializeResult": result(
        protocolVersion=must(TEXT, example=R2025_11),
        capabilities=must("ServerCapabilities", example={"tools": {}}),
        serverInfo=must("Implementation"),
        instructions=INSTRUCTIONS,
    ),
    "DiscoverResult": cached(
        supportedVersions=must(ListOf(TEXT), example=[R2026_07]),
        capabilities=must("ServerCapabilities", example={"tools": {}}),
        instructions=INSTRUCTIONS,
    ),
    "ServerCapabilities": shape(
        tools=may("ListCapability", example={}),
        resources=may("ResourcesCapability", example={}),
        prompts=may("ListCapability", example={}),
        completions=may(ANY_OBJECT, since=R2025_03, example={}),
        logging=may(ANY_OBJECT, example={}),
        tasks=may("ServerTasks", since=R2025_11, until=R2025_11),
        **_EXTRAS,
    ),
    "ListCapability": shape(listChanged=may(TRUTH, example=True)),
    "ResourcesCapability": shape(
        subscribe=may(TRUTH, example=True), listChanged=may(TRUTH, example=True)
    ),
    "ServerTasks": shape(
        list=may(ANY_OBJECT), cancel=may(ANY_OBJECT), requests=may("ServerTaskRequests")
    ),
    "ServerTaskRequests": shape(tools=may("ToolTasks")),
    "ToolTasks": shape(call=may(ANY_OBJECT)),
    "InitializeParams": params(
        protocolVersion=must(TEXT, example=R2025_11),
        capabilities=must("ClientCapabilities", example={}),
        clientInfo=must("Implementation", example={"name": "host", "version": "1.0.0"}),
    ),
    "ClientCapabilities": shape(
        roots=may("ListCapability"),
        sampling=may("SamplingCapability"),
        elicitation=may("ElicitationCapability", since=R2025_06),
        tasks=may("ClientTasks", since=R2025_11, until=R2025_11),
        **_EXTRAS,
    ),
    "SamplingCapability": loose(
        context=may(ANY_OBJECT, since=R2025_11),
        tools=may(ANY_OBJECT, since=R2025_11),
    ),
    "ElicitationCapability": loose(
        form=may(ANY_OBJECT, since=R2025_11), url=may(ANY_OBJECT, since=R2025_11)
    ),
    "ClientTasks": shape(list=may(ANY_OBJECT), cancel=may(ANY_OBJECT), requests=may(ANY_OBJECT)),
    "EmptyResult": Shape(
        {"resultType": must(TEXT, since=R2026_07, example="complete"), "_meta": may("ResultMeta")},
        closed=True,
    ),
    "EmptyParams": params(),
    # -- tools -----------------------------------------------------------------------------------
    "ListToolsResult": paged(tools=must(ListOf("Tool"))),
    "Tool": shape(
        name=must(Text("tool name"), example="ask_human"),
        **_described("Ask the human", "Ask a person a question and wait for the typed answer"),
        inputSchema=must("InputSchema"),
        outputSchema=may("OutputSchema", since=R2025_06, then=(R2026_07, "AnySchema")),
        annotations=may("ToolAnnotations", since=R2025_03, example={}),
        execution=may("ToolExecution", since=R2025_11, until=R2025_11),
        **_LISTED,
    ),
    "InputSchema": Shape(
        {
            "type": must(OneOf(("object",), unknown_value=kinds.schema_not_object)),
            "properties": may(MapOf(ANY_OBJECT), then=(R2026_07, MapOf(ANYTHING)), example=_ASKED),
            "required": may(ListOf(TEXT), example=list(_ASKED)),
            "$schema": may(TEXT),
        },
        open=True,
    ),
    "OutputSchema": Shape(
        {
            "type": must(OneOf(("object",))),
            "properties": may(MapOf(ANY_OBJECT)),
            "required": may(ListOf(TEXT)),
            "$schema": may(TEXT),
        },
        open=True,
    ),
    "AnySchema": Shape({"$schema": may(TEXT)}, open=True),
    "ToolAnnotations": shape(
        title=may(TEXT),
        readOnlyHint=may(TRUTH, example=True),
        destructiveHint=may(TRUTH),
        idempotentHint=may(TRUTH),
        openWorldHint=may(TRUTH, example=True),
    ),
    "ToolExecution": shape(taskSupport=may(OneOf(("forbidden", "optional", "required")))),
    "CallToolParams": retried(
        name=must(TEXT),
        arguments=may(ANY_OBJECT),
        task=_WISH,
    ),
    "CallToolResult": result(
        content=must(ListOf(CONTENT)),
        structuredContent=may(ANY_OBJECT, since=R2025_06, then=(R2026_07, ANYTHING)),
        isError=may(TRUTH),
    ),
    # -- content ---------------------------------------------------------------------------------
    "TextContent": shape(
        type=must(TEXT),
        text=must(TEXT, example="…"),
        **_NOTED,
    ),
    "ImageContent": shape(
        type=must(TEXT),
        data=must(BASE64, example=""),
        mimeType=must(MIME, example="image/png"),
        **_NOTED,
    ),
    "AudioContent": shape(
        R2025_03,
        type=must(TEXT),
        data=must(BASE64, example=""),
        mimeType=must(MIME, example="audio/wav"),
        **_NOTED,
    ),
    "ResourceLink": shape(R2025_06, type=must(TEXT), **_RESOURCE),
    "EmbeddedResource": shape(
        type=must(TEXT),
        resource=must(CONTENTS),
        **_NOTED,
    ),
    "TextResourceContents": shape(
        uri=must(URI, example="file:///notes/todo.txt"),
        mimeType=may(MIME, example="text/plain"),
        text=must(TEXT, example="…"),
        _meta=META,
    ),
    "BlobResourceContents": shape(
        uri=must(URI, example="file:///notes/pixel.png"),
        mimeType=may(MIME, example="image/png"),
        blob=must(BASE64, example=""),
        _meta=META,
    ),
    # -- resources -------------------------------------------------------------------------------
    "ListResourcesResult": paged(resources=must(ListOf("Resource"))),
    "Resource": shape(**_RESOURCE),
    "ListTemplatesResult": paged(resourceTemplates=must(ListOf("ResourceTemplate"))),
    "ResourceTemplate": shape(
        uriTemplate=must(TEXT, example="file:///notes/{name}"),
        name=must(TEXT, example="notes"),
        **_described("Notes", "Any note by its file name"),
        mimeType=may(MIME, example="text/plain"),
        annotations=may("Annotations"),
        **_LISTED,
    ),
    "ReadResourceResult": cached(contents=must(ListOf(CONTENTS))),
    "ReadParams": retried(uri=must(TEXT)),
    "UriParams": params(uri=must(TEXT)),
    "PageParams": params(cursor=may(TEXT)),
    "SetLevelParams": params(level=must(LOG_LEVEL, example="info")),
    # -- prompts and completion -----------------------------------------------------------------
    "ListPromptsResult": paged(prompts=must(ListOf("Prompt"))),
    "Prompt": shape(
        name=must(TEXT, example="summarise"),
        **_described("Summarise a text", "Asks for a short summary"),
        arguments=may(ListOf("PromptArgument"), example=[]),
        **_LISTED,
    ),
    "PromptArgument": shape(
        name=must(TEXT, example="text"),
        title=TITLE,
        description=may(TEXT, example="What to summarise"),
        required=may(TRUTH, example=True),
    ),
    "GetPromptParams": retried(name=must(TEXT), arguments=may(MapOf(TEXT))),
    "GetPromptResult": result(
        description=may(TEXT),
        messages=must(ListOf("PromptMessage")),
    ),
    "PromptMessage": shape(
        role=must(ROLE, example="user"),
        content=must(CONTENT),
    ),
    "CompleteParams": params(
        ref=must(ByMember("type", {"ref/prompt": "PromptRef", "ref/resource": "ResourceRef"})),
        argument=must("CompletedArgument"),
        context=may("CompletionContext", since=R2025_06),
    ),
    "PromptRef": shape(type=must(TEXT), name=must(TEXT), title=TITLE),
    "ResourceRef": shape(type=must(TEXT), uri=must(TEXT)),
    "CompletedArgument": shape(name=must(TEXT), value=must(TEXT)),
    "CompletionContext": shape(arguments=may(MapOf(TEXT))),
    "CompleteResult": result(completion=must("Completion")),
    "Completion": shape(
        values=must(ListOf(TEXT, most=100)),
        total=may(WHOLE),
        hasMore=may(TRUTH),
    ),
    # -- requests to the client ------------------------------------------------------------------
    "ListRootsResult": shape(roots=must(ListOf("Root"), example=[]), _meta=may("ResultMeta")),
    "Root": shape(
        uri=must(Text("file uri"), example="file:///home/me"), name=may(TEXT), _meta=META
    ),
    "CreateMessageParams": params(
        **_TURN,
        task=_WISH,
    ),
    "SamplingMessage": shape(
        role=must(ROLE, example="user"),
        content=must(OneOrMany(SAMPLED, R2025_11, SAMPLED)),
        _meta=META,
    ),
    "ModelPreferences": shape(
        hints=may(ListOf("ModelHint")),
        costPriority=may(SHARE),
        speedPriority=may(SHARE),
        intelligencePriority=may(SHARE),
    ),
    "ModelHint": loose(name=may(TEXT)),
    "ToolChoice": shape(mode=may(OneOf(("auto", "none", "required")))),
    "ToolUseContent": shape(
        R2025_11,
        type=must(TEXT),
        id=must(TEXT, example="call-1"),
        name=must(TEXT, example="ask_human"),
        input=must(ANY_OBJECT, example={}),
        _meta=META,
    ),
    "ToolResultContent": shape(
        R2025_11,
        type=must(TEXT),
        toolUseId=must(TEXT, example="call-1"),
        content=must(ListOf(CONTENT)),
        structuredContent=may(ANY_OBJECT, then=(R2026_07, ANYTHING)),
        isError=may(TRUTH),
        _meta=META,
    ),
    "CreateMessageResult": shape(
        role=must(ROLE, example="assistant"),
        content=must(OneOrMany(SAMPLED, R2025_11, SAMPLED)),
        model=must(TEXT, example="a person"),
        stopReason=may(TEXT, example="endTurn"),
        _meta=may("ResultMeta"),
    ),
    "FormParams": params(
        **_FORM,
        task=_WISH,
    ),
    "UrlParams": shape(
        R2025_11,
        **_URL,
        elicitationId=must(TEXT, until=R2025_11, example="e-1"),
        task=may("TaskWish", until=R2025_11),
        _meta=may("RequestMeta"),
    ),
    "FormSchema": Shape(
        {
            "type": must(OneOf(("object",))),
            "properties": must(MapOf(FORM_FIELD), example={}),
            "required": may(ListOf(TEXT)),
            "$schema": may(TEXT, since=R2025_11),
            # Forms that are generated from a class have these, and they do no harm: JSON Schema has
            # them, and MCP's shapes do not forbid them.
            "title": may(TEXT),
            "description": may(TEXT),
            "additionalProperties": may(ANYTHING),
        }
    ),
    "StringField": field(
        enum=may(ListOf(TEXT)),
        enumNames=may(ListOf(TEXT)),
        oneOf=may(ListOf("TitledChoice"), since=R2025_11),
        format=may(OneOf(("email", "uri", "date", "date-time"))),
        minLength=may(FROM_ZERO),
        maxLength=may(FROM_ZERO),
        default=may(TEXT),
    ),
    "NumberField": field(minimum=may(NUMBER), maximum=may(NUMBER), default=may(NUMBER)),
    "BooleanField": field(default=may(TRUTH)),
    "ListField": field(
        R2025_11,
        items=must("Choices", example={"type": "string", "enum": ["…"]}),
        minItems=may(FROM_ZERO),
        maxItems=may(FROM_ZERO),
        default=may(ListOf(TEXT)),
    ),
    "Choices": Shape(
        {
            "type": may(OneOf(("string",), unknown_value=kinds.form_not_flat)),
            "enum": may(ListOf(TEXT)),
            "anyOf": may(ListOf("TitledChoice")),
        },
        R2025_11,
        open=True,
        any_of=("enum", "anyOf"),
    ),
    "TitledChoice": loose(R2025_11, const=must(TEXT, example="…"), title=must(TEXT, example="…")),
    "ElicitResult": shape(
        action=must(OneOf(("accept", "decline", "cancel"))),
        content=may(MapOf(Text("one answer")), then=(R2025_11, MapOf(Text("answer")))),
        _meta=may("ResultMeta"),
    ),
    # -- `input_required` (2026-07-28) -------------------------------------------------------------
    "InputRequiredResult": result(
        inputRequests=may(MapOf(ASKS)),
        requestState=may(TEXT),
    ),
    "AskUser": shape(
        R2026_07,
        method=must(TEXT),
        params=must(ByMember("mode", {"form": "FormInput", "url": "UrlInput"}, usual="form")),
    ),
    "AskModel": shape(R2026_07, method=must(TEXT), params=must("ModelInput")),
    "AskRoots": shape(R2026_07, method=must(TEXT), params=may("MetaOnly")),
    "MetaOnly": shape(_meta=may("Meta")),
    "FormInput": shape(**_FORM),
    "UrlInput": shape(**_URL),
    "ModelInput": shape(**_TURN),
    # -- subscriptions (2026-07-28) ----------------------------------------------------------------
    "ListenParams": params(notifications=must("SubscriptionFilter")),
    "SubscriptionFilter": shape(
        toolsListChanged=may(TRUTH),
        promptsListChanged=may(TRUTH),
        resourcesListChanged=may(TRUTH),
        resourceSubscriptions=may(ListOf(TEXT)),
        # Of the extension for tasks.
        taskIds=may(ListOf(TEXT)),
    ),
    "ListenResult": shape(
        resultType=must(TEXT, since=R2026_07, example="complete"), _meta=must("ListenMeta")
    ),
    "ListenMeta": Shape(
        {META_SUBSCRIPTION: must(TOKEN, example=1), META_SERVER: may("Implementation")}, open=True
    ),
    # -- tasks: in the core of 2025-11-25, an extension of 2026-07-28 ------------------------------
    "TaskWish": shape(R2025_11, ttl=may(WHOLE)),
    "TaskParams": params(taskId=must(TEXT)),
    "TaskUpdateParams": params(taskId=must(TEXT), inputResponses=must(MapOf(ANY_OBJECT))),
    "Task": Shape(_TASK, R2025_11),
    "CreateTaskResult": shape(R2025_11, task=must("Task"), _meta=may("ResultMeta")),
    "TaskResult": result(**_TASK),
    "TaskStateResult": result(**_TASK_STATE, requestState=may(TEXT, since=R2026_07)),
    "TaskListResult": result(tasks=must(ListOf("Task"), example=[]), nextCursor=may(TEXT)),
    "TaskPayload": Shape({"_meta": must("TaskPayloadMeta")}, open=True),
    "TaskPayloadMeta": Shape({META_RELATED_TASK: must("RelatedTask")}, open=True),
    "TaskAcknowledged": result(),
    # -- skills: an extension of 2026-07-28 --------------------------------------------------------
    "ListSkillsResult": paged(skills=must(ListOf("Skill"), example=[])),
    "ReadDirectoryParams": params(uri=must(URI, example="skill://summarise"), cursor=may(TEXT)),
    "ReadDirectoryResult": result(
        resources=must(ListOf("Resource"), example=[]),
        nextCursor=may(TEXT),
        ttlMs=may(FROM_ZERO, since=R2026_07),
        cacheScope=may(OneOf(("private", "public")), since=R2026_07),
    ),
    "GetSkillParams": params(uri=must(URI, example="skill://summarise/SKILL.md")),
    "GetSkillResult": cached(skill=must("Skill")),
    "Skill": shape(
        R2026_07,
        uri=must(URI, example="skill://summarise/SKILL.md"),
        frontmatter=must("SkillFrontmatter"),
        resources=must(
            OneOrMany(OneOf(("dynamic",)), R2026_07, many="SkillFile"), example="dynamic"
        ),
    ),
    "SkillFrontmatter": loose(
        R2026_07,
        name=must(TEXT, example="summarise"),
        description=must(TEXT, example="How to summarise"),
    ),
    "SkillFile": shape(
        R2026_07,
        uri=must(URI, example="skill://summarise/SKILL.md"),
        digest=must(Text("digest"), example="sha256:" + "0" * 64),
        size=must(FROM_ZERO, example=0),
    ),
    # -- notifications -----------------------------------------------------------------------------
    "EmptyNotice": notice(),
    "CancelledNotice": notice(
        requestId=Member(((R2024_11, TOKEN),), tuple(r for r in ALL if r != R2025_11), example=1),
        reason=may(TEXT),
    ),
    "ProgressNotice": notice(
        progressToken=must(TOKEN, example=1),
        progress=must(NUMBER, example=1),
        total=may(NUMBER),
        message=may(TEXT, since=R2025_03),
    ),
    "MessageNotice": notice(
        level=must(LOG_LEVEL, example="info"),
        logger=may(TEXT),
        data=must(ANYTHING, example="…"),
    ),
    "UpdatedNotice": notice(uri=must(URI, example="file:///notes.txt")),
    "ElicitationCompleteNotice": notice(elicitationId=must(TEXT, example="e-1")),
    "TaskNotice": Shape({**_TASK_STATE, "_meta": may("NoticeMeta")}, R2025_11),
    "AcknowledgedNotice": notice(notifications=must("SubscriptionFilter", example={})),
    # -- errors ------------------------------------------------------------------------------------
    "Error": shape(
        code=must(WHOLE, example=-32603),
        message=must(TEXT, example="…"),
        data=may(ANYTHING),
    ),
    "VersionErrorData": loose(
        supported=must(ListOf(TEXT), example=[R2026_07]),
        requested=must(TEXT, example="…"),
    ),
    "CapabilityErrorData": loose(
        R2026_07,
        requiredCapabilities=must("ClientCapabilities", example={"elicitation": {}}),
    ),
    "UrlErrorData": loose(
        elicitations=must(
            ListOf("UrlParams"),
            example=[],
        ),
    ),
}
"""Every object, by name."""
