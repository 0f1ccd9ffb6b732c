import type { Layout } from '../../contract/layout.ts'
import { inlineDocument } from '../../contract/openapi.ts'
import type { Operation } from '../../contract/operation.ts'

/** The part of JSON Schema that the documents use. */
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
export type Described = {
  readonly id: string
  readonly summary: string
  readonly description: string
  readonly method: string
  readonly path: string
  /** Further routes to the same operation. */
  readonly others: readonly { readonly method: string; readonly path: string }[]
  readonly security: PathItem['security']
  readonly parameters: readonly Parameter[]
  readonly takesIdempotencyKey: boolean
  readonly body: { readonly required: boolean; readonly mediaTypes: readonly string[]; readonly media: Media } | null
  readonly answer: { readonly status: string; readonly name: string; readonly schema: Schema; readonly example: unknown }
  readonly errors: readonly { readonly status: string; readonly codes: readonly string[] }[]
}

export type Group = { readonly name: string; readonly description: string; readonly operations: readonly Described[] }

/** What a page shows of one layout. */
export type Reference = {
  readonly layout: Layout
  readonly version: string
  readonly groups: readonly Group[]
  readonly error: Schema
}

const answerOf = (responses: PathItem['responses']): Described['answer'] => {
  const [status = '200', response] = Object.entries(responses).find(([code]) => code.startsWith('2')) ?? []
  const media = response?.content?.['application/json']
  return { status, name: media?.schema.component ?? '', schema: media?.schema ?? {}, example: media?.example }
}

const errorsOf = (responses: PathItem['responses']): Described['errors'] =>
  Object.entries(responses)
    .filter(([status]) => !status.startsWith('2'))
    .map(([status, { description }]) => ({ status, codes: description.split(', ') }))

const bodyOf = ({ requestBody }: PathItem): Described['body'] => {
  const media = requestBody?.content['application/json']
  if (requestBody === undefined || media === undefined) return null
  return { required: requestBody.required, mediaTypes: Object.keys(requestBody.content), media }
}

const describe = (item: PathItem, method: string, path: string): Described => ({
  id: item.operationId,
  summary: item.summary,
  description: item.description,
  method: method.toUpperCase(),
  path,
  others: [],
  security: item.security,
  parameters: item.parameters.filter(one => 'name' in one),
  takesIdempotencyKey: item.parameters.some(one => '$ref' in one && one.$ref.endsWith('/IdempotencyKey')),
  body: bodyOf(item),
  answer: answerOf(item.responses),
  errors: errorsOf(item.responses),
})

/** Put further routes of an operation under its first one. */
const withOthers = (all: readonly Described[], operations: readonly Operation[], layout: Layout): readonly Described[] => {
  const owners = operations.flatMap(({ id, routes }) => routes[layout].map(route => [route.id ?? id, id] as const))
  const byRoute = new Map(owners)
  const ownerOf = ({ id }: Described): string => byRoute.get(id) ?? id
  return [...Map.groupBy(all, ownerOf)].flatMap(([id, routes]) => {
    const first = routes.find(one => one.id === id)
    return first === undefined ? [] : [{ ...first, others: routes.filter(one => one !== first) }]
  })
}

/** Read what the page shows out of the OpenAPI document of a layout; groups in the order of its tags, operations as they were declared. */
export function* referenceOf(operations: readonly Operation[], layout: Layout): Generator<void, Reference> {
  const document = (yield* inlineDocument(operations, layout)) as unknown as OpenApi
  const items = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, item]) => ({ tag: item.tags[0], described: describe(item, method, path) })),
  )
  const order = new Map(operations.map((operation, index) => [operation.id, index]))
  const placeOf = ({ id }: Described): number => order.get(id) ?? 0
  const groups = document.tags.map(({ name, description = '' }) => {
    const own = items.filter(item => item.tag === name).map(item => item.described)
    return { name, description, operations: withOthers(own, operations, layout).toSorted((a, b) => placeOf(a) - placeOf(b)) }
  })
  return { layout, version: document.info.version, groups, error: document.components.schemas['Error'] ?? {} }
}
