import { inlineReferences, type JsonSchema } from './json-schema.ts'

/** Path or query parameter of an operation. */
export type DocumentedParameter = {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly required: boolean
  readonly schema: JsonSchema
  readonly example?: unknown
}

/** Status, media types and schema of the JSON of a successful answer. */
type DocumentedSuccess = {
  readonly status: number
  readonly mediaTypes: readonly string[]
  readonly schema: JsonSchema
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
  readonly success: DocumentedSuccess
  /** Answers of a dry run, and of work that is not done yet. */
  readonly otherSuccesses: readonly DocumentedSuccess[]
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

const isDryRun = ({ content }: RawOperation['responses'][string]): boolean =>
  content?.['application/json']?.schema['$ref'] === '#/components/schemas/DryRun'

/** List the successful answers of an operation: first the usual one, then those of dry runs and unfinished work. */
const successesOf = (
  { responses, operationId }: RawOperation,
  document: OpenApiDocument,
): readonly [DocumentedSuccess, ...DocumentedSuccess[]] => {
  const answers = Object.entries(responses).filter(([status]) => Number(status) < 300)
  const [first, ...others] = answers
    .toSorted(([, a], [, b]) => Number(isDryRun(a)) - Number(isDryRun(b)))
    .flatMap(([status, { content }]) => {
      if (content === undefined) return []
      const schema = inlineReferences(content['application/json']?.schema ?? {}, document) as JsonSchema
      return [{ status: Number(status), mediaTypes: Object.keys(content), schema }]
    })
  if (first === undefined) throw new Error(`${operationId} documents no successful answer.`)
  return [first, ...others]
}

/** List the operations of a document. */
export const operationsOf = (document: OpenApiDocument): readonly DocumentedOperation[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, raw]): DocumentedOperation => {
      const content = raw.requestBody?.content ?? {}
      const json = content['application/json']
      const bearer = raw.security.find(one => 'bearer' in one)
      const [success, ...otherSuccesses] = successesOf(raw, document)
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
        success,
        otherSuccesses,
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
