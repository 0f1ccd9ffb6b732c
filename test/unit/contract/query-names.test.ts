import { describe, expect, it } from 'vitest'
import { type ApiVersion, apiVersions } from '../../../services/contract/api-version.ts'
import { readRequest } from '../../../services/contract/exchange.ts'
import { openApiDocument } from '../../../services/contract/openapi/openapi.ts'
import type { Operation, Route } from '../../../services/contract/operation.ts'
import { noReferenceIds } from '../../../services/domain/reference.ts'
import { documentedOperations, operations } from '../../../services/operations.ts'

type Case = readonly [name: string, operation: Operation, route: Route, apiVersion: ApiVersion]

const cases = apiVersions.flatMap(apiVersion =>
  operations
    .filter(({ anyQuery }) => anyQuery !== true)
    .flatMap(operation =>
      operation.routes[apiVersion].map(
        (route): Case => [`${apiVersion} ${route.method} ${route.path}`, operation, route, apiVersion],
      ),
    ),
)

const location = 'loc_0198c0ffee00112233445566'

const read = ([, operation, route, apiVersion]: Case, search: string) => {
  const body = { bytes: Buffer.from('{}'), mediaType: 'application/json' }
  const wire = { route, apiVersion, parameters: { id: location }, search, body }
  return readRequest(operation, wire, { findIds: async () => noReferenceIds, nextTurn: () => Promise.resolve() })
}

const documents = Object.fromEntries(
  await Promise.all(
    apiVersions.map(async apiVersion => [
      apiVersion,
      await openApiDocument(operations, apiVersion, '/', () => Promise.resolve()),
    ]),
  ),
)

/** Return the query parameters that the OpenAPI document of the version names. */
const documentedParameters = ([, , { method, path }, apiVersion]: Case): readonly string[] => {
  const paths = documents[apiVersion]?.['paths'] as Record<
    string,
    Record<string, { parameters: { name?: string; in?: string }[] }>
  >
  const { parameters = [] } = paths[path.replace(/\/$/, '')]?.[method.toLowerCase()] ?? {}
  return parameters.filter(one => one.in === 'query').map(one => one.name ?? '')
}

describe.each(cases)('the query of %s', (...one) => {
  it('refuses an unknown name as unknown_parameter', async () => {
    const refused = await read(one, 'certainly_unknown=1')
    expect(refused).toMatchObject({ ok: false, refusal: { code: 'unknown_parameter', field: 'certainly_unknown' } })
  })

  it('has the same defaults in each request without parameters, and no request can change them', async () => {
    const [, , route] = one
    // An empty parameter counts as absent.
    const expected = await read(one, 'a=')
    const [first, second] = [await read(one, ''), await read(one, '')]
    expect([first, second]).toEqual([expected, expected])
    if (!first.ok || !second.ok || route.bodyInQuery !== undefined) return
    expect(second.value.query).toBe(first.value.query)
    expect(Object.isFrozen(first.value.query)).toBe(true)
  })

  it('names the right parameter for the direction of the tariff', async () => {
    const names = documentedParameters(one)
    const right = names.filter(name => ['tariff_direction', 'direction', 'tariff'].includes(name))
    for (const name of ['direction', 'tariff_direction', 'tariff_rate'].filter(other => !right.includes(other))) {
      const refused = await read(one, `${name}=IMPORT`)
      expect([name, refused]).toMatchObject([name, { ok: false, refusal: { code: 'unknown_parameter', field: name } }])
      const advice = new RegExp(right.length === 0 ? '' : `(use|did you mean) (${right.join('|')})\\b`)
      expect(refused).toMatchObject({ refusal: { message: expect.stringMatching(advice) } })
    }
  })
})

const priceRoutes = cases.filter(([name]) => /^earlier GET \/tariffs\/(rates|audits?)\//.test(name))

describe.each(priceRoutes)('a location_id in %s', (...one) => {
  const times = 'start_time=2026-01-01T00:00:00Z&end_time=2026-01-02T00:00:00Z'

  it('is accepted if it equals the path, and otherwise refused with its name', async () => {
    expect(await read(one, times)).toMatchObject({ ok: true })
    expect(await read(one, `location_id=${location}&${times}`)).toEqual(await read(one, times))
    for (const other of ['loc_0198c0ffee00112233445567', 'x'])
      expect(await read(one, `location_id=${other}&${times}`)).toMatchObject({
        ok: false,
        refusal: {
          code: 'field_invalid',
          field: 'location_id',
          message: expect.stringContaining('the id in the path'),
        },
      })
  })
})

describe('the documents of the API', () => {
  it('have all operations, whatever a process serves', () => {
    expect(priceRoutes).toHaveLength(3)
    expect(documentedOperations([])).toEqual(operations)
  })

  it('have the path of an operation that settings have changed', () => {
    const [first] = operations
    if (first === undefined) throw new Error('There are operations.')
    const moved = { ...first, routes: { current: [], earlier: [] } }
    expect(documentedOperations([moved])).toEqual([moved, ...operations.slice(1)])
  })
})
