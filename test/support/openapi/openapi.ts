import { inlineReferences, type JsonSchema } from './json-schema.ts'

/** Path or query parameter of an operation. */
export type DocumentedParameter = {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly required: boolean
  readonly schema: JsonSchema
  readonly example?: unknown
}

/** Operation of an OpenAPI document. */
export type DocumentedOperation = {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly parameters: readonly DocumentedParameter[]
  readonly body: {
    readonly schema: JsonSchema
    readonly example?: unknown
    readonly mediaTypes: readonly string[]
  } | null
  /** Status of success, media types of the answer, and schema of the JSON answer. */
  readonly success: { readonly status: number; readonly mediaTypes: readonly string[]; readonly schema: JsonSchema }
  /** Documented codes of refusal by status. */
  readonly refusals: ReadonlyMap<number, readonly string[]>
  readonly takesIdempotencyKey: boolean
  /** Scopes of bearer keys; null if the operation accepts no bearer token. */
  readonly scopes: readonly string[] | null
  readonly isOperators: boolean
}

export type OpenApiDocument = {
  readonly info: { readonly version: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, RawOperation>>>>
  readonly components: Readonly<Record<string, unknown>>
}

type RawOperation = {
  readonly operationId: string
  readonly parameters: readonly (DocumentedParameter | { readonly $ref: string })[]
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: JsonSchema; readonly example?: unknown }>>
  }
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
}

type Content = { readonly 'application/json': { readonly schema: JsonSchema } }

const isOwn = (parameter: DocumentedParameter | { readonly $ref: string }): parameter is DocumentedParameter =>
  'name' in parameter

const successOf = (
  { responses, operationId }: RawOperation,
  document: OpenApiDocument,
): DocumentedOperation['success'] => {
  for (const [status, { content }] of Object.entries(responses)) {
    if (Number(status) >= 300 || content === undefined) continue
    const schema: JsonSchema = content['application/json']?.schema ?? {}
    if (schema['$ref'] === '#/components/schemas/DryRun') continue
    return {
      status: Number(status),
      mediaTypes: Object.keys(content),
      schema: inlineReferences(schema, document) as JsonSchema,
    }
  }
  throw new Error(`${operationId} documents no successful answer.`)
}

/** List the operations of a document. */
export const operationsOf = (document: OpenApiDocument): readonly DocumentedOperation[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, raw]): DocumentedOperation => {
      const content = raw.requestBody?.content ?? {}
      const json = content['application/json']
      const bearer = raw.security.find(one => 'bearer' in one)
      const refusals = Object.entries(raw.responses).filter(([status]) => Number(status) >= 400)
      return {
        id: raw.operationId,
        method: method.toUpperCase(),
        path,
        parameters: raw.parameters.filter(isOwn),
        body:
          json === undefined
            ? null
            : {
                ...json,
                schema: inlineReferences(json.schema, document) as JsonSchema,
                mediaTypes: Object.keys(content),
              },
        success: successOf(raw, document),
        refusals: new Map(refusals.map(([status, { description }]) => [Number(status), description.split(', ')])),
        takesIdempotencyKey: raw.parameters.some(one => '$ref' in one && one.$ref.endsWith('/IdempotencyKey')),
        scopes: bearer?.['bearer'] ?? null,
        isOperators: raw.security.some(one => 'operator' in one),
      }
    }),
  )

/** Fetch the OpenAPI document of an API version from a running system. */
export const readDocument = async (baseUrl: string, apiVersion: 'current' | 'earlier'): Promise<OpenApiDocument> => {
  const answer = await fetch(`${baseUrl}/openapi/${apiVersion}.json`)
  if (answer.status !== 200) throw new Error(`/openapi/${apiVersion}.json: ${answer.status}`)
  return (await answer.json()) as OpenApiDocument
}
