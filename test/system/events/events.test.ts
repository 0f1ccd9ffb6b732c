import { afterEach, describe, expect, it } from 'vitest'
import type { ReceivedEvent } from '../../support/event-ledger/object-histories.ts'
import { listAll } from '../../support/event-ledger/verify-events.ts'
import { createLocation, flatSchedule } from '../../support/registry/object-fixture.ts'
import { type Client, login } from '../../support/system/client.ts'
import { fillDataFolder } from '../../support/system/prepared-folder.ts'
import { dataFolder, type RunningSystem, removeData, startSystem } from '../../support/system/running-system.ts'

let folder = ''
let system: RunningSystem | null = null

const start = async (): Promise<Client> => {
  system = await startSystem(folder)
  return login(system.sandbox)
}

afterEach(async () => {
  await system?.[Symbol.asyncDispose]()
  system = null
  removeData(folder)
})

const paths = { customer: '/customers', location: '/locations', device: '/devices' } as const
type Kind = keyof typeof paths

const bodyOf = (kind: Kind, reference_id: string) =>
  kind === 'location' ? { reference_id, timezone: 'UTC', currency_code: 'EUR' } : { reference_id }

const allEvents = async (client: Client): Promise<readonly ReceivedEvent[]> =>
  (await listAll<ReceivedEvent>(client, '/events')).toReversed()

describe('events', () => {
  it('of a refusal name the refused request and the reason, once per request', async () => {
    folder = dataFolder()
    await fillDataFolder(folder)
    const current = await start()
    const refusedRequests: { readonly type: string; readonly request: string; readonly code: string }[] = []
    const refuse = async (type: string, method: string, path: string, body?: object | string) => {
      const reply = await current.send(method, path, body)
      expect(reply.status).toBeGreaterThanOrEqual(400)
      const { request_id: request, code } = reply.json as { readonly request_id: string; readonly code: string }
      refusedRequests.push({ type, request, code })
    }
    for (const [kind, path] of Object.entries(paths) as readonly [Kind, string][]) {
      await current.ask('POST', path, bodyOf(kind, 'taken'))
      await refuse(`${kind}.create.failed`, 'POST', path, bodyOf(kind, 'taken'))
      await refuse(`${kind}.create.failed`, 'POST', path, { ...bodyOf(kind, 'free'), no_such_field: 1 })
      await refuse(`${kind}.create.failed`, 'POST', path, bodyOf(kind, '🔌'.repeat(256)))
      await refuse(`${kind}.create.failed`, 'POST', path, JSON.stringify({ reference_id: 'x'.repeat(2 ** 20) }))
      await refuse(`${kind}.update.failed`, 'PATCH', `${path}/none`, {})
      await refuse(`${kind}.delete.failed`, 'DELETE', `${path}/none`)
    }
    const events = await allEvents(current)
    const seen = events.map(({ type, data }) => ({
      type,
      data: data as { request_id?: string; error?: { code: string } },
    }))
    const failed = seen.filter(({ type }) => type.endsWith('.failed'))
    expect(failed.map(({ type, data }) => ({ type, request: data.request_id, code: data.error?.code }))).toEqual(
      refusedRequests,
    )
    expect(seen).toHaveLength(refusedRequests.length + 3)
  })

  it('report a location whose tariff changes, and nothing if nothing changes', async () => {
    folder = dataFolder()
    await fillDataFolder(folder)
    const current = await start()
    const location = await createLocation(current)
    const body = { location_id: location, direction: 'IMPORT', type: 'COMMODITY', schedule: flatSchedule }
    const { id } = (await current.ask('POST', '/tariffs', body)) as { readonly id: string }
    await current.ask('PATCH', `/tariffs/${id}`, { display_name: 'Night' })
    await current.ask('GET', `/tariffs/${id}`)
    await current.ask('DELETE', `/tariffs/${id}`)
    const events = await allEvents(current)
    const ofPrices = events.filter(({ type }) => type === 'price.update')
    expect(ofPrices).toHaveLength(2)
    const ofLocation = events.filter(({ type }) => type !== 'price.update')
    expect(ofLocation.map(({ type, data }) => [type, data.id])).toEqual([
      ['location.create', location],
      ...[1, 2, 3].map(() => ['location.update', location]),
    ])
  })
})
