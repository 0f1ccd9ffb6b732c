import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { accepted } from '../../../../../services/domain/refusal.ts'
import { recordTopic } from '../../../../../services/platform/log/log.ts'
import { readOutbox } from '../../../../../services/platform/postgres/events/outbox.ts'
import type { Paging } from '../../../../../services/platform/postgres/page.ts'
import { createMarket } from '../../../../../services/platform/postgres/pricing/markets.ts'
import { loadLocationPricing } from '../../../../../services/platform/postgres/pricing/pricing-input.ts'
import { createTariff, retrieveTariff } from '../../../../../services/platform/postgres/pricing/tariffs.ts'
import {
  createCustomer,
  deleteCustomer,
  retrieveCustomer,
  updateCustomer,
} from '../../../../../services/platform/postgres/registry/customers.ts'
import {
  createDevice,
  deleteDevice,
  findActiveDevices,
  listDevices,
  retrieveDevice,
  updateDevice,
} from '../../../../../services/platform/postgres/registry/devices.ts'
import {
  createLocation,
  deleteLocation,
  listLocations,
  lockLocation,
  retrieveLocation,
  updateLocation,
} from '../../../../../services/platform/postgres/registry/locations.ts'
import { findActiveObjects } from '../../../../../services/platform/postgres/registry/references.ts'
import {
  changeTenant,
  type TenantTransaction,
  withTenant,
} from '../../../../../services/platform/postgres/transaction.ts'
import { acceptedValue } from '../../../../support/accepted-value.ts'
import { locationDraft, tariffDraft } from '../../../../support/registry/drafts.ts'
import { useTenants } from '../../../../support/registry/use-database.ts'
import { makeTenants } from '../../../../support/stores/postgres.ts'

const at = 1_760_000_000_000
const { database, live, test, inLive, change } = await useTenants()

const newest: Paging = { limit: 100, startingAfter: null, endingBefore: null }

describe('devices', () => {
  it('are read as they were created and changed, and keep members that a change omits', async () => {
    const device = await inLive(tx =>
      createDevice(tx, { referenceId: 'charger-1', displayName: null, register: null, metadata: { bay: '7' } }, at),
    )
    expect(await inLive(tx => retrieveDevice(tx, device.id))).toEqual(device)
    const renamed = await change(tx => updateDevice(tx, device.id, { referenceId: 'charger-2' }))
    expect(acceptedValue(renamed)).toEqual({ ...device, referenceId: 'charger-2' })
    expect(acceptedValue(await change(tx => updateDevice(tx, device.id, { metadata: {} })))).toEqual({
      ...device,
      referenceId: 'charger-2',
      displayName: null,
      metadata: {},
    })
  })

  it('share a reference_id only with deleted objects, the other mode and other kinds', async () => {
    const draft = { referenceId: 'taken', displayName: null, register: null, metadata: {} }
    const first = await inLive(tx => createDevice(tx, draft, at))
    const second = await change(async tx => accepted(await createDevice(tx, draft, at)))
    expect(second).toMatchObject({ ok: false, refusal: { code: 'reference_id_taken', field: 'reference_id' } })
    await withTenant(database, test, tx => createDevice(tx, draft, at))
    await inLive(tx => createCustomer(tx, draft, at))
    expect(await change(tx => deleteDevice(tx, first.id, at))).toEqual(accepted(first))
    const third = await inLive(tx => createDevice(tx, draft, at))
    const other = await inLive(tx =>
      createDevice(tx, { referenceId: 'free', displayName: null, register: null, metadata: {} }, at),
    )
    expect(await change(tx => updateDevice(tx, other.id, { referenceId: 'taken' }))).toMatchObject({
      refusal: { code: 'reference_id_taken' },
    })
    expect(await inLive(tx => findActiveDevices(tx, [first.id, third.id, 'dev_none']))).toEqual(new Set([third.id]))
  })

  it('are hidden after their deletion, and always hidden in the other mode', async () => {
    const { id } = await inLive(tx =>
      createDevice(tx, { referenceId: 'going', displayName: null, register: null, metadata: {} }, at),
    )
    expect(await changeTenant(database, test, tx => deleteDevice(tx, id, at))).toMatchObject({
      refusal: { code: 'not_found' },
    })
    acceptedValue(await change(tx => deleteDevice(tx, id, at)))
    expect(await inLive(tx => retrieveDevice(tx, id))).toBeNull()
    expect(await change(tx => deleteDevice(tx, id, at))).toMatchObject({ refusal: { code: 'not_found' } })
    expect(await change(tx => updateDevice(tx, id, {}))).toMatchObject({ refusal: { code: 'not_found' } })
  })
})

describe('lists', () => {
  it('return every object once, newest first, in both directions, while others are added and deleted', async () => {
    const { live: tenant } = await makeTenants(database)
    const scoped = <T>(work: (transaction: TenantTransaction) => Promise<T>): Promise<T> =>
      withTenant(database, tenant, work)
    let made = 0
    const create = () => {
      made += 1
      return scoped(tx =>
        createDevice(tx, { referenceId: `walk-${made}`, displayName: null, register: null, metadata: {} }, at),
      )
    }
    const stay: string[] = []
    const goers: string[] = []
    for (let i = 0; i < 12; i += 1) {
      stay.unshift((await create()).id)
      goers.push((await create()).id)
    }
    const walk = async (limit: number, backwards: boolean): Promise<readonly string[]> => {
      const seen: string[] = []
      let paging: Paging = { limit, startingAfter: null, endingBefore: backwards ? (stay.at(-1) ?? null) : null }
      for (;;) {
        const page = acceptedValue(await scoped(tx => listDevices(tx, { referenceId: null }, paging)))
        const ids = page.items.map(({ id }) => id)
        if (backwards) seen.unshift(...ids)
        else seen.push(...ids)
        if (!page.hasMore) return seen
        paging = backwards
          ? { limit, startingAfter: null, endingBefore: ids[0] ?? null }
          : { limit, startingAfter: ids.at(-1) ?? null, endingBefore: null }
        const goer = goers.pop()
        if (goer === undefined) continue
        await scoped(tx => deleteDevice(tx, goer, at))
        await create()
      }
    }
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 5 }), fc.boolean(), async (limit, backwards) => {
        const seen = await walk(limit, backwards)
        const expected = backwards ? stay.slice(0, -1) : stay
        expect(seen.filter(id => stay.includes(id))).toEqual(expected)
        expect(seen).toEqual(seen.toSorted().reverse())
        expect(new Set(seen).size).toBe(seen.length)
      }),
      { numRuns: 6 },
    )
  })

  it('accept the cursor of a deleted object, and refuse an unknown one', async () => {
    const older = await inLive(tx =>
      createDevice(tx, { referenceId: 'older', displayName: null, register: null, metadata: {} }, at),
    )
    const cursor = await inLive(tx =>
      createDevice(tx, { referenceId: 'cursor', displayName: null, register: null, metadata: {} }, at),
    )
    await change(tx => deleteDevice(tx, cursor.id, at))
    const page = await inLive(tx =>
      listDevices(tx, { referenceId: null }, { limit: 1, startingAfter: cursor.id, endingBefore: null }),
    )
    expect(acceptedValue(page).items).toEqual([older])
    const unknown = await inLive(tx =>
      listDevices(tx, { referenceId: null }, { ...newest, endingBefore: 'dev_000000000000000000000000' }),
    )
    expect(unknown).toMatchObject({ refusal: { code: 'cursor_not_found', field: 'ending_before' } })
  })
})

describe('locations and customers', () => {
  it('are read as they were created, each with the id of the other', async () => {
    const customer = await inLive(tx =>
      createCustomer(tx, { referenceId: 'household', displayName: null, metadata: {} }, at),
    )
    const draft = locationDraft({ referenceId: 'home', customerId: customer.id, metadata: { floor: '2' } })
    const location = acceptedValue(await change(tx => createLocation(tx, draft, at)))
    expect(location).toMatchObject({ ...draft, tariffs: [], pricingRevision: 0, createdAt: at })
    expect(await inLive(tx => retrieveLocation(tx, location.id))).toEqual(location)
    expect(await inLive(tx => retrieveCustomer(tx, customer.id))).toEqual({ ...customer, locationIds: [location.id] })
    const listed = await inLive(tx => listLocations(tx, { referenceId: null, customerId: customer.id }, newest))
    expect(acceptedValue(listed)).toEqual({ items: [location], hasMore: false })
    expect(acceptedValue(await change(tx => updateCustomer(tx, customer.id, { referenceId: null })))).toMatchObject({
      referenceId: null,
    })
  })

  it('refuse a customer or market source that is unknown, deleted, or of another tenant', async () => {
    const elsewhere = await withTenant(database, test, tx =>
      createCustomer(tx, { referenceId: null, displayName: null, metadata: {} }, at),
    )
    const deleted = await inLive(tx => createCustomer(tx, { referenceId: null, displayName: null, metadata: {} }, at))
    acceptedValue(await change(tx => deleteCustomer(tx, deleted.id, at)))
    for (const customerId of [elsewhere.id, deleted.id, 'cus_none']) {
      const made = await change(tx => createLocation(tx, locationDraft({ customerId }), at))
      expect(made).toMatchObject({ refusal: { code: 'customer_not_found', field: 'customer_id' } })
    }
    const market = { displayName: 'Own', currencyCode: 'EUR', area: null, resolutionMinutes: null, importer: null }
    const foreign = await withTenant(database, test, tx => createMarket(tx, market, at))
    for (const importSourceId of [foreign.id, 'mrs_none']) {
      const made = await change(tx => createLocation(tx, locationDraft({ importSourceId }), at))
      expect(made).toMatchObject({ refusal: { code: 'market_source_not_found', field: 'market_sources.import' } })
    }
    const dollars = await inLive(tx => createMarket(tx, { ...market, currencyCode: 'USD' }, at))
    const mixed = await change(tx => createLocation(tx, locationDraft({ exportSourceId: dollars.id }), at))
    expect(mixed).toMatchObject({ refusal: { code: 'currency_mismatch', field: 'market_sources.export' } })
  })

  it('request recosts over all time for a new zone, and none for a new name', async () => {
    const { id } = acceptedValue(await change(tx => createLocation(tx, locationDraft(), at)))
    const update = (draft: Parameters<typeof locationDraft>[0]) =>
      change(async tx => {
        const before = await lockLocation(tx, id)
        if (before === null) throw new Error('no location')
        return updateLocation(tx, before, { ...before, ...draft }, at)
      })
    const renamed = acceptedValue(await update({ referenceId: 'renamed' }))
    expect(renamed).toMatchObject({ location: { referenceId: 'renamed', pricingRevision: 0 }, recostRequest: null })
    const moved = acceptedValue(await update({ timezone: 'Europe/Vienna' }))
    expect(moved.location.pricingRevision).toBe(1)
    expect(JSON.parse(moved.recostRequest?.payload ?? '')).toMatchObject({
      locations: [id],
      revision: 1,
      from: null,
      to: null,
    })
    acceptedValue(await change(tx => createTariff(tx, tariffDraft(id), at)))
    expect(await update({ currencyCode: 'CHF' })).toMatchObject({ refusal: { code: 'currency_in_use' } })
    expect(await inLive(tx => retrieveLocation(tx, id))).toMatchObject({
      timezone: 'Europe/Vienna',
      currencyCode: 'EUR',
      pricingRevision: 2,
    })
  })

  it('are deleted together: the locations of a customer are deleted, and their tariffs end', async () => {
    const customer = await inLive(tx => createCustomer(tx, { referenceId: null, displayName: null, metadata: {} }, at))
    const with_ = acceptedValue(await change(tx => createLocation(tx, locationDraft({ customerId: customer.id }), at)))
    const without = acceptedValue(
      await change(tx => createLocation(tx, locationDraft({ customerId: customer.id }), at)),
    )
    const { tariff } = acceptedValue(await change(tx => createTariff(tx, tariffDraft(with_.id), at)))
    const gone = acceptedValue(await change(tx => deleteCustomer(tx, customer.id, at + 1_000)))
    expect(gone.customer.id).toBe(customer.id)
    expect(gone.locations.map(({ id, tariffs }) => [id, tariffs.map(shown => shown.id)])).toEqual([
      [with_.id, [tariff.id]],
      [without.id, []],
    ])
    const pending = await readOutbox(database.operator, recordTopic, 100)
    expect(pending.filter(({ payload, key }) => key.endsWith(with_.id) && JSON.parse(payload).revision > 1)).toEqual([])
    const [priced] = await loadLocationPricing(database.operator, [{ ...live, locationId: with_.id }])
    expect(priced).toMatchObject({ revision: 1, deletedAt: at + 1_000, tariffs: [{ id: tariff.id, closedAt: null }] })
    expect(await inLive(tx => retrieveTariff(tx, tariff.id))).toBeNull()
    expect(await inLive(tx => findActiveObjects(tx, [with_.id, without.id], []))).toEqual(new Map())
    expect(await change(tx => deleteLocation(tx, with_.id, at))).toMatchObject({ refusal: { code: 'not_found' } })
  })
})
