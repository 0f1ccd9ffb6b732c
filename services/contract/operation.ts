import type { z } from 'zod'
import type { Refusal, RefusalCode } from '../domain/refusal.ts'
import type { TableFormat } from '../domain/table-format.ts'
import type { Tenant } from '../domain/tenant.ts'
import { acceptedMessage } from './answer-field.ts'
import type { ApiVersion } from './api-version.ts'
import type { DryRunWire } from './dry-run.ts'
import type { VersionRename } from './earlier-api-version.ts'
import type { ReferenceFields } from './reference.ts'

/**
 * Required credentials: `open` none; `login` account id and API key (Basic); `any` each valid token; `read`,
 * `metering`, `all` a token whose key has that scope; `owner` a key of scope `all` or a user with the role `owner`.
 * A key of scope `all` may call all operations. A user with the role `support` may call all operations except `owner`.
 */
export type Access = 'open' | 'login' | 'any' | 'read' | 'metering' | 'all' | 'owner'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Method and path of an operation. Path parameters are in braces: `/customers/{id}`. */
export type Route = {
  /** Id of this route in the OpenAPI document, if an operation has several routes. */
  readonly id?: string
  readonly method: Method
  readonly path: string
  /**
   * The members of the body arrive as query parameters; `numbers` are the names of members that are JSON numbers.
   * The earlier API version reads prices and schedules with GET. `repeatedId` is a parameter that may repeat the id in
   * the path.
   */
  readonly bodyInQuery?: { readonly numbers: readonly string[]; readonly repeatedId?: string }
  /** Paths of numbers in the body that may be strings: `data.max_power.value`. */
  readonly numbersAsText?: readonly string[]
  /** Path parameters of the other API version that arrive as members of the body: `{ id: 'location_id' }`. */
  readonly parametersInBody?: Readonly<Record<string, string>>
}

/** Routes of each API version. `Path` is the type of the current paths, so that calls know their parameters. */
export type Routes<Path extends string> = {
  readonly current: readonly (Route & { readonly path: Path })[]
  readonly earlier: readonly Route[]
}

/** Differences between the API versions, used in both directions. Absent: no difference. */
type OperationRenames = {
  readonly query?: readonly VersionRename[]
  readonly body?: readonly VersionRename[]
  readonly answer?: readonly VersionRename[]
}

/** Shape of a query, with one text for each parameter. */
export type QueryShape = z.ZodObject
/** Shape of a parsed body. With `raw`, the operation receives the inflated bytes and reads them itself. */
export type BodyShape = z.ZodType | 'raw'

/**
 * Declaration of one API operation. Routing, validation, access and the reference page derive from the declaration.
 * All shapes and names are those of the current API version.
 */
export type Operation<
  Query extends QueryShape = QueryShape,
  Body extends BodyShape = BodyShape,
  Answer extends z.ZodType = z.ZodType,
  Path extends string = string,
> = {
  /** `<resource>_<verb>`. */
  readonly id: string
  /** Member `context` of its error objects. Default: `api.<id>`. */
  readonly context?: string
  /** Title in lists. */
  readonly summary: string
  /** Explanation for callers, in full sentences. */
  readonly description: string
  /** Group on the reference page. */
  readonly tag: string
  readonly access: Access
  /** The operator's key (`X-Operator-Key`) is accepted too. */
  readonly operator?: true
  /**
   * Routes of each API version. Messages name the first route. Without a route, the version does not have the
   * operation.
   */
  readonly routes: Routes<Path>
  readonly query?: Query
  readonly body?: Body
  /** The body is optional. An absent body is read as `{}`. */
  readonly bodyOptional?: true
  /** Maximum size of the inflated body in bytes. Default: 1 MiB. */
  readonly bodyLimit?: number
  /** Accepted media types in addition to JSON, such as `application/x-ndjson`; only with a raw body. */
  readonly mediaTypes?: readonly string[]
  /** Shape of a raw body for the reference page. */
  readonly bodyDocument?: z.ZodType
  /** `name` is the name of the component in the OpenAPI document. */
  readonly answer: { readonly name: string; readonly shape: Answer }
  readonly status: 200 | 201 | 202
  /** The answer can have status 202 instead: its result is not calculated yet. */
  readonly canBePending?: true
  /** The operation stops if its client disconnects, as every GET does. */
  readonly endsWithClient?: true
  /** Accepts `Idempotency-Key`. True for every POST that creates or changes an object. */
  readonly idempotent?: true
  /** Action of its audit entries. Default: resource and verb of `id`, such as `customer.create`. Only operations that change something have entries. */
  readonly auditAction?: string
  /** Reason why an operation other than a GET writes no audit entry. */
  readonly unaudited?: string
  /** The answer contains a secret that only this answer shows. Under an `Idempotency-Key` it is stored encrypted. */
  readonly secretAnswer?: true
  readonly renames?: OperationRenames
  /**
   * Fields that accept an own reference (`reference:depot-7`). The operation itself reads the references of a raw body.
   */
  readonly references?: ReferenceFields
  /**
   * Refusal codes of this operation for the reference page, in addition to the codes that follow from the declaration.
   */
  readonly refusals?: readonly RefusalCode[]
  /** A raw body is accepted with any Content-Type. */
  readonly anyMediaType?: true
  /** The answer has the API version of the Connect session, not of the request. */
  readonly anyVersion?: true
  /** The answer is lines of JSON (`application/x-ndjson`) instead of a JSON value. */
  readonly ndjson?: true
  /** The answer is available as text/csv, chosen by the header `Accept`. */
  readonly csv?: true
  /** The answer is available as a table in these formats, chosen by the header `Accept`. */
  readonly tables?: readonly TableFormat[]
  /** The answer is a table in every case, never JSON. */
  readonly tablesOnly?: true
  /**
   * Accepts `dry_run` as a query parameter, and as a member of a body that is an object. The answer then has status 200
   * and the effects of the change. `Idempotency-Key` is ignored.
   */
  readonly dryRun?: true
  /** The query is ignored. */
  readonly anyQuery?: true
  /** Scripts of any web page may read the answer. */
  readonly cors?: true
  /** Examples for the reference page, in the current API version. */
  readonly examples?: { readonly body?: unknown; readonly answer?: unknown }
}

/** Declare an operation with the types of its shapes. */
export const defineOperation = <
  Answer extends z.ZodType,
  Query extends QueryShape = z.ZodObject<Record<never, never>>,
  Body extends BodyShape = z.ZodUndefined,
  const Path extends string = string,
>(
  operation: Operation<Query, Body, Answer, Path>,
): Operation<Query, Body, Answer, Path> => operation

/** Members of an operation that reads one object. */
export const retrieval = <Shape extends z.ZodType>(
  answer: { readonly name: string; readonly shape: Shape },
  example: unknown,
) => ({ access: 'read', answer, status: 200, examples: { answer: example } }) as const

/** Members of an operation that deletes an object. Source: docs/rules/registry.md #operations. */
export const deletion = {
  access: 'all',
  answer: { name: 'Accepted', shape: acceptedMessage },
  status: 202,
  examples: { answer: { message: 'Accepted' } },
} as const

/** Return whether an operation changes something, so that it writes an audit entry. */
export const isAudited = ({ routes, unaudited }: Pick<Operation, 'routes' | 'unaudited'>): boolean =>
  unaudited === undefined && [...routes.current, ...routes.earlier].some(({ method }) => method !== 'GET')

/** Return the action of the audit entries of an operation: object and verb. Source: docs/audit-log.md #entries. */
export const auditActionOf = ({ id, auditAction }: Pick<Operation, 'id' | 'auditAction'>): string =>
  auditAction ?? id.replace(/_([a-z]+)$/, '.$1')

/** Return one route for both API versions. */
export const sameRoute = <const Path extends string>(method: Method, path: Path): Routes<Path> => ({
  current: [{ method, path }],
  earlier: [{ method, path }],
})

/** Return a route of the current API version alone. */
export const currentRoute = <const Path extends string>(method: Method, path: Path): Routes<Path> => ({
  current: [{ method, path }],
  earlier: [],
})

/** Rights of a caller. Keys have `read`, `metering` or `all`; users have `read`, `support` or `all`. */
export type Scope = 'read' | 'metering' | 'support' | 'all' | 'operator'

/** Scopes of keys and users that may call the operations of an access. */
const scopesOf: Readonly<Record<Access, readonly Scope[]>> = {
  open: [],
  login: ['read', 'metering', 'all'],
  any: ['read', 'metering', 'support', 'all'],
  read: ['read', 'support', 'all'],
  metering: ['metering', 'support', 'all'],
  all: ['support', 'all'],
  owner: ['all'],
}

/**
 * Return whether a scope may call an operation. Pages use it to leave out the buttons that the API would refuse.
 * Source: docs/rules/authentication.md #scopes.
 */
export const mayCall = ({ access }: Pick<Operation, 'access'>, scope: Scope): boolean =>
  access === 'open' || scope === 'operator' || scopesOf[access].includes(scope)

/** Scopes of API keys that may call an operation. */
export const keyScopesOf = ({ access }: Pick<Operation, 'access'>): readonly Scope[] =>
  scopesOf[access].filter(scope => scope !== 'support')

/** Caller of a request: an account in one mode. `keyId` is the id of the key, or of the user of the console. */
export type Caller = Tenant & {
  readonly keyId: string
  readonly scope: Scope
  readonly defaultApiVersion: ApiVersion
  /** Rate limit of the account in this mode. Null or absent: the limit of the installation. */
  readonly requestsPerSecond?: number | null
  /** Access generation of the account, 0 if absent. It increases when the account is disabled. */
  readonly accessGeneration?: number
}

/** Idempotency key of an account. `fingerprint` is a hash of path, query and body. `secretAnswer`: of the operation. */
export type IdempotencyClaim = Tenant & {
  readonly key: string
  readonly fingerprint: string
  readonly secretAnswer: boolean
}

/** Lets other work run before the next step of long work, if other work waits. */
export type NextTurn = () => Promise<void>

/** Raw body of a request. */
export type RawBody = {
  /** Inflated bytes; not yet checked to be UTF-8. */
  readonly bytes: Uint8Array
  /** Media type in lower case without parameters; `application/json` for each `+json` type. */
  readonly mediaType: string
}

type QueryOf<O extends Operation> = O extends Operation<infer Query, infer _B, infer _A> ? z.output<Query> : never
type BodyOf<O extends Operation> =
  O extends Operation<infer _Q, infer Body, infer _A> ? (Body extends z.ZodType ? z.output<Body> : RawBody) : never
export type AnswerOf<O extends Operation> =
  O extends Operation<infer _Q, infer _B, infer Answer> ? z.input<Answer> : never

/** Validated request in current names. `at` is the time of arrival in ms. */
export type RequestOf<O extends Operation> = {
  readonly caller: Caller
  readonly at: number
  readonly requestId: string
  readonly apiVersion: ApiVersion
  /** Path parameters by name. */
  readonly parameters: Readonly<Record<string, string>>
  /** The `id` of the path; empty if the path has no id. */
  readonly id: string
  readonly query: QueryOf<O>
  readonly body: BodyOf<O>
  /** Idempotency key of this request. The operation can finish the key in the transaction of its change. */
  readonly idempotency: IdempotencyClaim | null
  /** The caller requests a CSV table, and the operation supports one. */
  readonly wantsCsv?: boolean
  /** Table that the caller requests, of the formats of the operation. */
  readonly tableFormat?: TableFormat
  /** Aborted after the request's timeout, or if its client disconnects. */
  readonly signal: AbortSignal
}

/**
 * Answer that is already serialized in the request's API version: JSON in UTF-8, or a CSV table if `isTable` is true.
 */
export type SerializedAnswer =
  | { readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly chunks: AsyncIterable<Uint8Array<ArrayBuffer>> }

/** File of an answer. `name`: for the client's disk. The file does not change under its ETag. */
export type FileAnswer = {
  readonly path: string
  readonly bytes: number
  readonly etag: string
  readonly name: string
}

/**
 * Result of an operation: the answer in current names, a serialized answer, the effects of a dry run, or a refusal.
 * `apiVersion`, `context` and `connectToken` replace those of the request.
 */
export type Outcome<Answer> =
  | {
      readonly ok: true
      readonly value: Answer
      readonly file?: never
      readonly serialized?: never
      readonly dryRun?: never
      readonly apiVersion?: ApiVersion
      /** The answer has status 202, because its result is not calculated yet. */
      readonly isPending?: boolean
    }
  | {
      readonly ok: true
      readonly dryRun: DryRunWire
      readonly file?: never
      readonly value?: never
      readonly serialized?: never
      readonly apiVersion?: never
      readonly isPending?: never
    }
  | {
      readonly ok: true
      readonly serialized: SerializedAnswer
      readonly file?: never
      readonly dryRun?: never
      readonly isTable?: boolean
      /** The answer is a table of a whole period. Its stream may take an hour. */
      readonly table?: TableFormat
      readonly value?: never
      readonly apiVersion?: never
      readonly isPending?: never
    }
  | {
      readonly ok: true
      readonly file: FileAnswer
      readonly table: TableFormat
      readonly serialized?: never
      readonly dryRun?: never
      readonly value?: never
      readonly apiVersion?: never
      readonly isPending?: never
    }
  | {
      readonly ok: false
      readonly refusal: Refusal
      readonly apiVersion?: ApiVersion
      readonly context?: string
      readonly connectToken?: string
    }
