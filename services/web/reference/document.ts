import type { ApiVersion } from '../../contract/api-version.ts'
import { inlineDocument } from '../../contract/openapi/openapi.ts'
import type { NextTurn, Operation } from '../../contract/operation.ts'

/** Keywords of JSON Schema that the documents use. */
export type Schema = {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly format?: string
  readonly readOnly?: boolean
  readonly deprecated?: boolean
} & { readonly [Limit in LimitName]?: number }

export type LimitName =
  | 'minimum'
  | 'maximum'
  | 'exclusiveMinimum'
  | 'exclusiveMaximum'
  | 'minLength'
  | 'maxLength'
  | 'minItems'
  | 'maxItems'
  | 'maxProperties'

export type Parameter = {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly description?: string
  readonly schema: Schema
  readonly example?: unknown
}

type Media = { readonly schema: Schema & { readonly component?: string }; readonly example?: unknown }
type Response = { readonly description: string; readonly content?: { readonly 'application/json': Media } }

type PathItem = {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly tags: readonly [string]
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters: readonly (Parameter | { readonly $ref: string })[]
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<Record<string, Response>>
}

type OpenApi = {
  readonly info: { readonly version: string }
  readonly tags: readonly { readonly name: string; readonly description?: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, PathItem>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** One operation as the page shows it. */
export type DescribedOperation = {
  readonly id: string
  readonly summary: string
  readonly description: string
  readonly method: string
  readonly path: string
  /** Further routes to the same operation. */
  readonly otherRoutes: readonly { readonly method: string; readonly path: string }[]
  readonly security: PathItem['security']
  readonly parameters: readonly Parameter[]
  readonly takesIdempotencyKey: boolean
  readonly body: { readonly required: boolean; readonly mediaTypes: readonly string[]; readonly media: Media } | null
  readonly answer: {
    readonly status: string
    readonly name: string
    readonly schema: Schema
    readonly example: unknown
  }
  readonly errors: readonly { readonly status: string; readonly codes: readonly string[] }[]
}

export type Group = {
  readonly name: string
  readonly description: string
  readonly operations: readonly DescribedOperation[]
}

/** Content of the reference page of an API version. */
export type Reference = {
  readonly apiVersion: ApiVersion
  readonly version: string
  readonly groups: readonly Group[]
  readonly error: Schema
}

const successAnswer = (responses: PathItem['responses']): DescribedOperation['answer'] => {
  const [status = '200', response] = Object.entries(responses).find(([code]) => code.startsWith('2')) ?? []
  const media = response?.content?.['application/json']
  return { status, name: media?.schema.component ?? '', schema: media?.schema ?? {}, example: media?.example }
}

const errorsOf = (responses: PathItem['responses']): DescribedOperation['errors'] =>
  Object.entries(responses)
    .filter(([status]) => !status.startsWith('2'))
    .map(([status, { description }]) => ({ status, codes: description.split(', ') }))

const bodyOf = ({ requestBody }: PathItem): DescribedOperation['body'] => {
  const media = requestBody?.content['application/json']
  if (requestBody === undefined || media === undefined) return null
  return { required: requestBody.required, mediaTypes: Object.keys(requestBody.content), media }
}

const describeOperation = (pathItem: PathItem, method: string, path: string): DescribedOperation => ({
  id: pathItem.operationId,
  summary: pathItem.summary,
  description: pathItem.description,
  method: method.toUpperCase(),
  path,
  otherRoutes: [],
  security: pathItem.security,
  parameters: pathItem.parameters.filter(one => 'name' in one),
  takesIdempotencyKey: pathItem.parameters.some(one => '$ref' in one && one.$ref.endsWith('/IdempotencyKey')),
  body: bodyOf(pathItem),
  answer: successAnswer(pathItem.responses),
  errors: errorsOf(pathItem.responses),
})

/** Merge the further routes of an operation into its first route. */
const groupRoutes = (
  all: readonly DescribedOperation[],
  operations: readonly Operation[],
  apiVersion: ApiVersion,
): readonly DescribedOperation[] => {
  const routeOwners = operations.flatMap(({ id, routes }) =>
    routes[apiVersion].map(route => [route.id ?? id, id] as const),
  )
  const byRoute = new Map(routeOwners)
  const ownerOf = ({ id }: DescribedOperation): string => byRoute.get(id) ?? id
  return [...Map.groupBy(all, ownerOf)].flatMap(([id, routes]) => {
    const first = routes.find(one => one.id === id)
    return first === undefined ? [] : [{ ...first, otherRoutes: routes.filter(one => one !== first) }]
  })
}

/**
 * Read the content of the page from the OpenAPI document of an API version.
 * Groups have the order of the tags, operations the order of their declaration.
 */
export const referenceOf = async (
  operations: readonly Operation[],
  apiVersion: ApiVersion,
  nextTurn: NextTurn,
): Promise<Reference> => {
  const document = (await inlineDocument(operations, apiVersion, nextTurn)) as unknown as OpenApi
  const items = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, pathItem]) => ({
      tag: pathItem.tags[0],
      described: describeOperation(pathItem, method, path),
    })),
  )
  const declarationOrder = new Map(operations.map((operation, index) => [operation.id, index]))
  const declarationIndex = ({ id }: DescribedOperation): number => declarationOrder.get(id) ?? 0
  const groups = document.tags.map(({ name, description = '' }) => {
    const own = items.filter(pathItem => pathItem.tag === name).map(pathItem => pathItem.described)
    return {
      name,
      description,
      operations: groupRoutes(own, operations, apiVersion).toSorted(
        (a, b) => declarationIndex(a) - declarationIndex(b),
      ),
    }
  })
  return { apiVersion, version: document.info.version, groups, error: document.components.schemas['Error'] ?? {} }
}
