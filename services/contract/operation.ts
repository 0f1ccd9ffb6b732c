import type { z } from 'zod'
import type { Refusal, RefusalCode } from '../domain/refusal.ts'
import type { ApiVersion } from './api-version.ts'
import type { VersionRename } from './earlier-api-version.ts'
import type { ReferenceFields } from './reference.ts'

/**
 * Who may call: `open` anyone; `login` account id and API key (Basic); `any` every valid token; `read`, `metering`, `all` a token
 * whose key has that scope. A key of scope `all` may call everything.
 */
export type Access = 'open' | 'login' | 'any' | 'read' | 'metering' | 'all'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** One way to reach an operation. Path parameters stand in braces: `/customers/{id}`. */
export type Route = {
  /** Id of this route in the OpenAPI document, where an operation has several. */
  readonly id?: string
  readonly method: Method
  readonly path: string
  /**
   * The members of the body arrive as query parameters, and `numbers` are those that are JSON numbers.
   * Only in the earlier layout, where prices and schedules are read with GET.
   */
  readonly bodyInQuery?: { readonly numbers: readonly string[] }
  /** Numbers of the body that may arrive as strings, by their paths: `data.max_power.value`. */
  readonly numbersAsText?: readonly string[]
  /** Path parameters of the other layout that arrive as members of the body: `{ id: 'location_id' }`. */
  readonly parametersInBody?: Readonly<Record<string, string>>
}

/** The renames between the layouts, written once and read in both directions. Absent: both layouts are alike. */
type OperationRenames = {
  readonly query?: readonly VersionRename[]
  readonly body?: readonly VersionRename[]
  readonly answer?: readonly VersionRename[]
}

/** A query shape: reads one text per parameter. */
type QueryShape = z.ZodObject
/** A body shape reads what `parseJson` gives; `raw` hands over the decoded bytes, for operations that read by themselves. */
type BodyShape = z.ZodType | 'raw'

/**
 * One operation of the interface, declared once: routing, reading, writing, access and the reference page follow from it.
 * All shapes and names are those of the current layout.
 */
export type Operation<
  Query extends QueryShape = QueryShape,
  Body extends BodyShape = BodyShape,
  Answer extends z.ZodType = z.ZodType,
> = {
  /** `<resource>_<verb>`. */
  readonly id: string
  /** Where its errors are said to come from; `api.<id>` for most. */
  readonly context?: string
  /** A few words for lists. */
  readonly summary: string
  /** What a caller must know, in full sentences. */
  readonly description: string
  /** The group on the reference page. */
  readonly tag: string
  readonly access: Access
  /** The operator's own key (`X-Operator-Key`) opens it too. */
  readonly operator?: true
  /** The first route of a layout is the one that messages name; no route: the operation does not exist in that layout. */
  readonly routes: Readonly<Record<ApiVersion, readonly Route[]>>
  readonly query?: Query
  readonly body?: Body
  /** A body may be left out; it is then read as `{}`. */
  readonly bodyOptional?: true
  /** Largest inflated body in bytes; 1 MiB when absent. */
  readonly bodyLimit?: number
  /** Media types taken beside JSON, such as `application/x-ndjson`; only with a raw body. */
  readonly mediaTypes?: readonly string[]
  /** Shown on the reference page where the body is raw. */
  readonly bodyDocument?: z.ZodType
  /** `name` is the name of the component in the OpenAPI document. */
  readonly answer: { readonly name: string; readonly shape: Answer }
  readonly status: 200 | 201 | 202
  /** Its work ends when its client goes away, as that of every read does. */
  readonly endsWithClient?: true
  /** Takes `Idempotency-Key`: true on every POST that creates or changes something. */
  readonly idempotent?: true
  readonly renames?: OperationRenames
  /** Places that take an own reference too (`reference:depot-7`); of a raw body the operation reads them itself. */
  readonly references?: ReferenceFields
  /** Refusals of its own that the reference page names, beside those that every operation can give. */
  readonly refusals?: readonly RefusalCode[]
  /** A raw body is taken whatever its Content-Type. */
  readonly anyMediaType?: true
  /** Answers in the API version of its session, whatever that of the request. */
  readonly anyVersion?: true
  /** The answer as text/csv too, by Accept. */
  readonly csv?: true
  /** What stands in the query is not looked at. */
  readonly anyQuery?: true
  /** Answers may be read by scripts of any web page. */
  readonly cors?: true
  /** Examples for the reference page, in the current layout. */
  readonly examples?: { readonly body?: unknown; readonly answer?: unknown }
}

/** Declare an operation, keeping the types of its shapes. */
export const defineOperation = <
  Answer extends z.ZodType,
  Query extends QueryShape = z.ZodObject<Record<never, never>>,
  Body extends BodyShape = z.ZodUndefined,
>(
  operation: Operation<Query, Body, Answer>,
): Operation<Query, Body, Answer> => operation

/** One route that both layouts share. */
export const sameRoute = (method: Method, path: string): Readonly<Record<ApiVersion, readonly Route[]>> => ({
  current: [{ method, path }],
  earlier: [{ method, path }],
})

export type ApiKeyScope = 'read' | 'metering' | 'all' | 'operator'

/** Who calls: an account in one mode, by one key. */
export type Caller = {
  readonly accountId: string
  readonly liveMode: boolean
  readonly keyId: string
  readonly scope: ApiKeyScope
  readonly defaultApiVersion: ApiVersion
  /** Requests a second of the account in this mode; null or absent: those of the installation. */
  readonly requestsPerSecond?: number | null
}

/** A key under which the same request gives the same answer. `fingerprint` stands for path, query and body. */
export type IdempotencyClaim = {
  readonly accountId: string
  readonly liveMode: boolean
  readonly key: string
  readonly fingerprint: string
}

/** What `run` reads of a request that takes a raw body. */
export type RawBody = {
  /** Inflated bytes; not yet checked to be UTF-8. */
  readonly bytes: Uint8Array
  /** Lower-case media type without parameters; `application/json` for every `+json` type. */
  readonly mediaType: string
}

type QueryOf<O extends Operation> = O extends Operation<infer Query, infer _B, infer _A> ? z.output<Query> : never
type BodyOf<O extends Operation> =
  O extends Operation<infer _Q, infer Body, infer _A> ? (Body extends z.ZodType ? z.output<Body> : RawBody) : never
export type AnswerOf<O extends Operation> =
  O extends Operation<infer _Q, infer _B, infer Answer> ? z.input<Answer> : never

/** A request as an operation sees it: read, checked, and in the names of the current layout. `at` is its arrival in ms. */
export type RequestOf<O extends Operation> = {
  readonly caller: Caller
  readonly at: number
  readonly requestId: string
  readonly apiVersion: ApiVersion
  /** Path parameters by name. */
  readonly parameters: Readonly<Record<string, string>>
  /** The `id` of the path; empty where the path has none. */
  readonly id: string
  readonly query: QueryOf<O>
  readonly body: BodyOf<O>
  /** Names this request under its Idempotency-Key; an operation may finish the key in the transaction of its change. */
  readonly idempotency: IdempotencyClaim | null
  /** The answer is asked for as a table, and the operation has one. */
  readonly wantsCsv?: boolean
  /** Aborted when the request has run out of time, or its client has gone. */
  readonly signal: AbortSignal
}

/** An answer that an operation has written itself, in the names of the request's layout: JSON in UTF-8, or a table if its outcome says so. */
export type SerializedAnswer =
  | { readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly chunks: AsyncIterable<Uint8Array<ArrayBuffer>> }

/**
 * What an operation gives back: its answer in the names of the current layout, or written already, or why it refuses.
 * A flow with a layout, a context or a token of its own names them; all else follows from the request.
 */
export type Outcome<Answer> =
  | { readonly ok: true; readonly value: Answer; readonly serialized?: never; readonly apiVersion?: ApiVersion }
  | {
      readonly ok: true
      readonly serialized: SerializedAnswer
      readonly isTable?: boolean
      readonly value?: never
      readonly apiVersion?: never
    }
  | {
      readonly ok: false
      readonly refusal: Refusal
      readonly apiVersion?: ApiVersion
      readonly context?: string
      readonly connectToken?: string
    }
