/** Value of JSON that can have members. */
export type Json = { readonly [name: string]: unknown }

/** OpenAPI document of one API version. */
export type Document = Json & {
  readonly info: { readonly version: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, RawOperation>>>>
  readonly webhooks: Readonly<
    Record<string, { readonly post: { readonly requestBody: { readonly content: Content } } }>
  >
  readonly components: { readonly schemas: Readonly<Record<string, Json>> } & Json
}

type Content = Readonly<Record<string, { readonly schema: Json; readonly example?: unknown }>>

type RawParameter = { readonly $ref?: string; readonly name?: string; readonly in?: string }

type RawOperation = {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly parameters: readonly RawParameter[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>
  readonly security: readonly Json[]
}

/** Operation as both clients need it. */
export type Operation = {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly summary: string
  readonly raw: RawOperation
  /** True if the operation reads a list with cursors. */
  readonly isList: boolean
  /** True if the operation accepts `Idempotency-Key`. */
  readonly takesKey: boolean
  /** True if the operation has an answer in JSON. */
  readonly hasJson: boolean
  readonly queryNames: readonly string[]
  readonly pathNames: readonly string[]
  readonly hasBody: boolean
  /** True if the query has `dry_run`, and the answer of a dry run is another than that of the change. */
  readonly hasDryRun: boolean
  readonly access: Access
}

/** Credentials of an operation: a key or token, the account id with its key, or none. */
export type Access = 'bearer' | 'basic' | 'none'

const accessOf = (security: readonly Json[]): Access => {
  if (security.some(one => 'bearer' in one)) return 'bearer'
  return security.some(one => 'basic' in one) ? 'basic' : 'none'
}

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Component of the answer of a dry run. */
export const dryRunName = 'DryRun'

const isSuccess = (status: string): boolean => status.startsWith('2')

/** List the operations of a document. */
export const operationsOf = ({ paths }: Document): readonly Operation[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, raw]): Operation => {
      const { operationId: id, summary, parameters, requestBody, responses, security } = raw
      const named = (place: string): readonly string[] =>
        parameters.flatMap(one => (one.in === place && one.name !== undefined ? [one.name] : []))
      const answers = Object.entries(responses).filter(([status]) => isSuccess(status))
      const schemas = answers.flatMap(([, { content = {} }]) => {
        const schema = content['application/json']?.schema
        return Array.isArray(schema?.['anyOf']) ? schema['anyOf'] : [schema]
      })
      return {
        id,
        path,
        summary,
        raw,
        method: method.toUpperCase(),
        isList: named('query').includes('starting_after'),
        takesKey: parameters.some(({ $ref }) => $ref?.endsWith('/IdempotencyKey') === true),
        hasJson: answers.some(([, { content = {} }]) => 'application/json' in content),
        queryNames: named('query'),
        pathNames: named('path'),
        hasBody: requestBody !== undefined,
        hasDryRun: schemas.some(schema => componentName(schema) === dryRunName),
        access: accessOf(security),
      }
    }),
  )

/** Return the name of a component that a reference names, or null. */
export const componentName = (schema: unknown): string | null =>
  isObject(schema) && typeof schema['$ref'] === 'string' ? (schema['$ref'].split('/').at(-1) ?? null) : null

/** List the names of the schemas of all webhook events. */
export const eventSchemas = ({ webhooks }: Document): readonly string[] =>
  Object.values(webhooks).flatMap(({ post }) => {
    const name = componentName(post.requestBody.content['application/json']?.schema)
    return name === null ? [] : [name]
  })
