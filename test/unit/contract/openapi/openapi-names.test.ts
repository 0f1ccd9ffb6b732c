import { describe, expect, it } from 'vitest'
import { apiVersionDates, apiVersions } from '../../../../services/contract/api-version.ts'
import { openApiDocument } from '../../../../services/contract/openapi/openapi.ts'
import { nameObject } from '../../../../services/contract/openapi/schema-name.ts'
import { eventTypes } from '../../../../services/domain/event-types.ts'
import { operations } from '../../../../services/operations.ts'

type Json = { readonly [name: string]: Json } & { readonly length?: number }

const documentOf = async (apiVersion: (typeof apiVersions)[number]) =>
  (await openApiDocument(operations, apiVersion, '/', () => Promise.resolve())) as unknown as Json

const documents = { current: await documentOf('current'), earlier: await documentOf('earlier') }

/** All objects within a value, with their paths. */
const objectsIn = (value: unknown, path = '$'): readonly (readonly [string, Json])[] => {
  if (typeof value !== 'object' || value === null) return []
  const own = Array.isArray(value) ? [] : [[path, value as Json] as const]
  return [...own, ...Object.entries(value).flatMap(([name, one]) => objectsIn(one, `${path}.${name}`))]
}

const requests = (document: Json): readonly Json[] =>
  ['paths', 'webhooks'].flatMap(part => Object.values(document[part] ?? {}).flatMap(methods => Object.values(methods)))

describe.each(apiVersions)('the OpenAPI document of the %s version', apiVersion => {
  const document = documents[apiVersion]

  it('allows its own Api-Version only, in requests and answers', () => {
    const constant = { const: apiVersionDates[apiVersion] }
    expect(document['components']?.['parameters']?.['ApiVersion']).toMatchObject({ schema: constant })
    expect(document['components']?.['headers']?.['ApiVersion']).toMatchObject({ schema: constant })
  })

  it('has one readable id for each operation', () => {
    const ids = requests(document).map(({ operationId }) => String(operationId))
    expect(ids.length).toBeGreaterThan(60)
    expect(new Set(ids).size).toBe(ids.length)
    for (const id of ids) expect(id).toMatch(/^[a-z]+(?:_[a-z]+)+$/)
  })

  it('names each object without digits, and has no object inline in a list or another object', () => {
    for (const name of Object.keys(document['components']?.['schemas'] ?? {}))
      expect(name).toMatch(/^[A-Z][a-zA-Z]{3,70}$/)
    const isNamed = (path: string): boolean => /^\$\.components\.schemas\.\w+$/.test(path)
    const inline = objectsIn(document).filter(
      ([path, one]) => Object.keys(one['properties'] ?? {}).length > 0 && /\.schemas?\b/.test(path) && !isNamed(path),
    )
    expect(inline.map(([path]) => path).filter(path => !path.endsWith('.properties'))).toEqual([])
  })

  it('resolves each reference, and uses each schema', () => {
    const text = JSON.stringify(document)
    const used = new Set([...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name))
    expect(Object.keys(document['components']?.['schemas'] ?? {}).filter(name => !used.has(name))).toEqual([])
    for (const name of used) expect(document['components']?.['schemas']?.[String(name)], name).toBeDefined()
  })

  it('lists every event type as a webhook', () => {
    expect(Object.keys(document['webhooks'] ?? {})).toEqual(eventTypes)
  })

  it('describes costs and records as CSV, and records in lines', () => {
    const answers = (path: string, method: string) =>
      Object.keys(document['paths']?.[path]?.[method]?.['responses']?.['200']?.['content'] ?? {})
    for (const [path, method] of [
      ['/costs/interval/{id}', 'post'],
      ['/costs/session/{id}', 'post'],
      ['/meters/records', 'get'],
    ] as const) {
      expect(answers(path, method).slice(0, 2)).toEqual(['application/json', 'text/csv'])
    }
    const tables = ['application/x-ndjson', 'application/vnd.apache.parquet', 'application/vnd.apache.arrow.stream']
    expect(answers('/meters/records', 'get').slice(2)).toEqual(tables)
    const taken = document['paths']?.['/meters/interval']?.['put']?.['requestBody']?.['content'] ?? {}
    expect(Object.keys(taken)).toEqual(['application/json', 'application/x-ndjson', 'text/csv'])
  })

  it('has the errors of limits for every operation', () => {
    for (const [path, methods] of Object.entries(document['paths'] ?? {})) {
      for (const [method, { responses, requestBody }] of Object.entries(methods)) {
        const own = requestBody === undefined ? [] : ['408', '413', '415']
        expect(Object.keys(responses ?? {}), `${method} ${path}`).toEqual(
          expect.arrayContaining(['422', '431', '503', ...own]),
        )
      }
    }
    const connect = Object.keys(document['paths']?.['/connect']?.['post']?.['responses'] ?? {})
    expect(connect).toEqual(expect.arrayContaining(['400', '409']))
  })

  it('describes the rules for metadata names, bounds and addresses', () => {
    const schemas = document['components']?.['schemas'] ?? {}
    const metadata = objectsIn(schemas['CustomerCreateRequest']).find(([path]) => path.endsWith('.propertyNames'))
    expect(metadata?.[1]).toMatchObject({ minLength: 1, maxLength: 255 })
    expect(schemas['WebhookCreateRequest']).toMatchObject({ properties: { url: { format: 'uri' } } })
    const isCurrent = apiVersion === 'current'
    if (isCurrent)
      expect(schemas['ScheduleLimitRetrieveRequest']).toMatchObject({
        anyOf: [{ required: ['absolute'] }, { required: ['relative'] }],
      })
  })
})

describe('the documents', () => {
  const { current, earlier } = documents
  const schema = (document: Json, name: string): Json => document['components']?.['schemas']?.[name] ?? ({} as Json)

  it('always have prices and costs in the current version; in the earlier one the caller can omit them', () => {
    expect(schema(current, 'PriceElement')['required']).toContain('price')
    expect(schema(current, 'MeterRecordData')['required']).toContain('tariff')
    expect(schema(current, 'EnergyCostElement')['required']).toContain('tariff')
    expect(schema(earlier, 'PriceElement')['required']).not.toContain('tariff')
    expect(schema(earlier, 'MeterRecordData')['required']).not.toContain('tariff')
  })

  it('have complete_action in the earlier version only', () => {
    expect(JSON.stringify(current)).not.toContain('complete_action')
    expect(schema(earlier, 'ConnectSession')['properties']).toHaveProperty('complete_action')
  })

  it('have no nullable string in the earlier version', () => {
    const nullable = objectsIn(earlier['components']?.['schemas']).filter(([path, { anyOf }]) => {
      const types = Array.isArray(anyOf) ? anyOf.map((one: Json) => one['type']) : []
      return (
        types.includes('null' as never) &&
        types.includes('string' as never) &&
        !/Request|Input|KnownAddress|RegisterReading/.test(path)
      )
    })
    expect(nullable.map(([path]) => path)).toEqual([])
  })
})

describe('the name of a schema', () => {
  it('cannot be used for a second schema', () => {
    const named = new Map()
    const one = { type: 'object', properties: { a: { type: 'string' } } }
    expect(nameObject(one, 'One', named)).toEqual({ $ref: '#/components/schemas/One' })
    expect(nameObject(one, 'One', named)).toEqual({ $ref: '#/components/schemas/One' })
    expect(() => nameObject({ ...one, required: ['a'] }, 'One', named)).toThrow('Two schemas have the name One')
  })
})
