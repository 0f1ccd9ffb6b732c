import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { apiVersions } from '../../services/contract/api-version.ts'
import { operations } from '../../services/operations.ts'
import { openProcesses } from '../support/kafka/processes.ts'
import { sharedBrokers, skippedWithout } from '../support/kafka/shared-broker.ts'
import { operationsOf, readDocument } from '../support/openapi/openapi.ts'
import { login } from '../support/system/client.ts'

/** Return the ids of all routes of an API version, whatever role serves them. */
const idsOf = (apiVersion: (typeof apiVersions)[number]): readonly string[] =>
  operations.flatMap(({ id, routes }) => routes[apiVersion].map(route => route.id ?? id)).toSorted()

const documentPages = { current: '/docs/api', earlier: '/docs/api/earlier' } as const

describe.skipIf(skippedWithout('any broker') !== null)('a query service without the other roles', () => {
  const stack = new AsyncDisposableStack()
  let service: { readonly url: string; readonly client: Awaited<ReturnType<typeof login>> }
  beforeAll(async () => {
    const processes = stack.use(await openProcesses(await sharedBrokers(), `test-${randomUUID()}.`))
    const { url } = await processes.start('query-service')
    service = { url, client: await login({ ...processes.sandbox(), base_url: url }) }
  })
  afterAll(() => stack.disposeAsync())

  it('does not serve the operations of the gateway', async () => {
    expect((await service.client.send('PUT', '/meters/interval', [])).status).toBe(404)
    expect((await service.client.send('GET', '/customers')).status).toBe(200)
  })

  it.each(apiVersions)('lists all operations in the %s OpenAPI document and on its page', async apiVersion => {
    const document = await readDocument(service.url, apiVersion)
    expect(
      operationsOf(document)
        .map(({ id }) => id)
        .toSorted(),
    ).toEqual(idsOf(apiVersion))
    const published = new URL(`../../schemas/openapi/${apiVersion}.json`, import.meta.url)
    const { paths } = JSON.parse(readFileSync(published, 'utf8')) as { readonly paths: object }
    expect(document.paths).toEqual(paths)
    const page = await fetch(service.url + documentPages[apiVersion])
    const sections = [...(await page.text()).matchAll(/<section class="operation" id="(\w+)"/g)].map(([, id]) => id)
    const documented = operations.filter(({ routes }) => routes[apiVersion].length > 0)
    expect(sections.toSorted()).toEqual(documented.map(({ id, routes }) => routes[apiVersion][0]?.id ?? id).toSorted())
  })
})
