import sql from 'sql-template-tag'
import { describe, expect, it } from 'vitest'
import type { ScheduleEntry } from '../../../../../services/domain/tariff/tariff.ts'
import { recordTopic } from '../../../../../services/platform/log/log.ts'
import { readOutbox } from '../../../../../services/platform/postgres/events/outbox.ts'
import type { Paging } from '../../../../../services/platform/postgres/page.ts'
import { createMarket } from '../../../../../services/platform/postgres/pricing/markets.ts'
import { loadLocationPricing } from '../../../../../services/platform/postgres/pricing/pricing-input.ts'
import {
  createTariff,
  endTariff,
  listTariffPage,
  listTariffs,
  retrieveTariff,
  updateTariff,
  voidTariff,
} from '../../../../../services/platform/postgres/pricing/tariffs.ts'
import {
  createLocation,
  deleteLocation,
  retrieveLocation,
} from '../../../../../services/platform/postgres/registry/locations.ts'
import { changeTenant } from '../../../../../services/platform/postgres/transaction.ts'
import { acceptedValue } from '../../../../support/accepted-value.ts'
import { locationDraft, tariffDraft, tieredSchedule } from '../../../../support/registry/drafts.ts'
import { useTenants } from '../../../../support/registry/use-database.ts'

const at = 1_760_000_000_000
const dayMs = 86_400_000
const { database, live, test, inLive, change } = await useTenants()

const newLocation = async (): Promise<string> =>
  acceptedValue(await change(tx => createLocation(tx, locationDraft(), at))).id
const orderOf = (changed: { readonly recostRequest: { readonly payload: string } | null }) =>
  JSON.parse(changed.recostRequest?.payload ?? 'null')
const filterAll = { direction: null, type: null }
const newest = { limit: 100, startingAfter: null, endingBefore: null }

describe('a tariff', () => {
  it('is read as it was created, exact to the last digit, and listed with its location', async () => {
    const locationId = await newLocation()
    const draft = tariffDraft(locationId, {
      schedule: tieredSchedule(999_999_999_999_999n),
      contractStart: at - dayMs,
      contractEnd: at + dayMs,
    })
    const { tariff } = acceptedValue(await change(tx => createTariff(tx, draft, at)))
    expect(tariff).toMatchObject({ ...draft, ...live, timezone: 'Europe/Berlin', closedAt: null, createdAt: at })
    expect(await inLive(tx => retrieveTariff(tx, tariff.id))).toEqual(tariff)
    expect(await inLive(tx => listTariffs(tx, { locationId, ...filterAll }))).toEqual([tariff])
    expect(await inLive(tx => listTariffs(tx, { locationId, direction: 'EXPORT', type: null }))).toEqual([])
    const { id, direction, type, status, marketRates, contractStart, contractEnd } = tariff
    expect((await inLive(tx => retrieveLocation(tx, locationId)))?.tariffs).toEqual([
      { id, direction, type, status, marketRates, contractStart, contractEnd },
    ])
  })

  it("raises its location's revision and requests recosts from its start to the next tariff", async () => {
    const locationId = await newLocation()
    const later = acceptedValue(
      await change(tx => createTariff(tx, tariffDraft(locationId, { contractStart: at + 10 * dayMs }), at)),
    )
    expect(orderOf(later)).toMatchObject({ locations: [locationId], revision: 1, from: at + 10 * dayMs, to: null })
    acceptedValue(
      await change(tx =>
        createTariff(tx, tariffDraft(locationId, { type: 'NON_COMMODITY', contractStart: at + dayMs }), at),
      ),
    )
    const earlier = acceptedValue(
      await change(tx =>
        createTariff(tx, tariffDraft(locationId, { contractStart: at, contractEnd: at + 5 * dayMs }), at),
      ),
    )
    expect(orderOf(earlier)).toMatchObject({
      account_id: live.accountId,
      live_mode: true,
      revision: 3,
      from: at,
      to: at + 10 * dayMs,
    })
    expect(await readOutbox(database.operator, recordTopic, 100)).toContainEqual(earlier.recostRequest)
  })

  it('is refused if another tariff of its kind overlaps, and leaves no trace of the attempt', async () => {
    const locationId = await newLocation()
    const { tariff } = acceptedValue(
      await change(tx => createTariff(tx, tariffDraft(locationId, { contractStart: at, contractEnd: at + dayMs }), at)),
    )
    for (const [contractStart, contractEnd, fits] of [
      [at + dayMs, null, true],
      [null, at, true],
      [at + dayMs - 1, null, false],
      [null, at + 1, false],
      [null, null, false],
    ] as const) {
      const made = await changeTenant(database, live, async tx => {
        const result = await createTariff(tx, tariffDraft(locationId, { contractStart, contractEnd }), at)
        return result.ok ? { ok: false, refusal: { code: 'internal_error', message: 'undo' } } : result
      })
      const refusal = made.ok ? null : made.refusal
      expect(refusal?.code).toBe(fits ? 'internal_error' : 'tariff_overlap')
      if (!fits)
        expect(refusal).toMatchObject({ field: 'contract_start_date', message: expect.stringContaining(tariff.id) })
    }
    expect(await inLive(tx => retrieveLocation(tx, locationId))).toMatchObject({ pricingRevision: 1 })
  })

  it('is refused if an overlapping one is created at the same time', async () => {
    const locationId = await newLocation()
    const duplicates = await Promise.all(
      [1, 2, 3, 4].map(() => change(tx => createTariff(tx, tariffDraft(locationId), at))),
    )
    expect(duplicates.filter(({ ok }) => ok)).toHaveLength(1)
    expect(duplicates.filter(duplicate => !duplicate.ok && duplicate.refusal.code === 'tariff_overlap')).toHaveLength(3)
  })

  it('cannot overlap by a constraint of the table', async () => {
    const locationId = await newLocation()
    acceptedValue(await change(tx => createTariff(tx, tariffDraft(locationId), at)))
    const forced = changeTenant(database, live, async ({ query }) => {
      await query(sql`
        insert into tariffs select (jsonb_populate_record(t, '{"id": "trf_forced"}')).* from tariffs t
        where location_id = ${locationId}`)
      return { ok: true, value: null }
    })
    expect(await forced).toMatchObject({ ok: false, refusal: { code: 'tariff_overlap' } })
  })

  it('needs an active location of its own tenant', async () => {
    const locationId = await newLocation()
    const elsewhere = await changeTenant(database, test, tx => createTariff(tx, tariffDraft(locationId), at))
    expect(elsewhere).toMatchObject({ refusal: { code: 'location_not_found', field: 'location_id' } })
    acceptedValue(await change(tx => deleteLocation(tx, locationId, at)))
    expect(await change(tx => createTariff(tx, tariffDraft(locationId), at))).toMatchObject({
      refusal: { code: 'location_not_found' },
    })
    const unknownProvider = tariffDraft(await newLocation(), { providerId: 'prv_none' })
    expect(await change(tx => createTariff(tx, unknownProvider, at))).toMatchObject({
      refusal: { code: 'provider_not_found' },
    })
  })

  it('follows the market only if its location has a source in its currency', async () => {
    const draft = { displayName: 'Own', currencyCode: 'EUR', area: null, resolutionMinutes: null, importer: null }
    const market = await inLive(tx => createMarket(tx, draft, at))
    const { id } = acceptedValue(
      await change(tx => createLocation(tx, locationDraft({ importSourceId: market.id }), at)),
    )
    acceptedValue(await change(tx => createTariff(tx, tariffDraft(id, { marketRates: true }), at)))
    const exported = tariffDraft(id, { marketRates: true, direction: 'EXPORT' })
    expect(await change(tx => createTariff(tx, exported, at))).toMatchObject({
      refusal: { code: 'currency_mismatch', field: 'market_rates' },
    })
  })
})

describe('a changed tariff', () => {
  it('requests recosts from its old or new end on, and none for a new name', async () => {
    const locationId = await newLocation()
    const { tariff } = acceptedValue(
      await change(tx => createTariff(tx, tariffDraft(locationId, { contractStart: at }), at)),
    )
    const named = acceptedValue(await change(tx => updateTariff(tx, tariff.id, { displayName: null }, at)))
    expect(named).toEqual({ tariff: { ...tariff, displayName: null }, changed: null, recostRequest: null })
    const ended = acceptedValue(await change(tx => updateTariff(tx, tariff.id, { contractEnd: at + 3 * dayMs }, at)))
    expect(orderOf(ended)).toMatchObject({ revision: 2, from: at + 3 * dayMs, to: null })
    acceptedValue(await change(tx => createTariff(tx, tariffDraft(locationId, { contractStart: at + 5 * dayMs }), at)))
    const moved = acceptedValue(await change(tx => updateTariff(tx, tariff.id, { contractEnd: at + 4 * dayMs }, at)))
    expect(orderOf(moved)).toMatchObject({ revision: 4, from: at + 3 * dayMs, to: at + 5 * dayMs })
    expect(await change(tx => updateTariff(tx, tariff.id, { contractEnd: null }, at))).toMatchObject({
      refusal: { code: 'tariff_overlap', field: 'contract_end_date' },
    })
    expect(await change(tx => updateTariff(tx, tariff.id, { contractEnd: at }, at))).toMatchObject({
      refusal: { code: 'end_before_start' },
    })
    expect(await inLive(tx => retrieveTariff(tx, tariff.id))).toEqual({ ...moved.tariff, displayName: null })
  })

  it('keeps its prices after its end, allows a next tariff, and is hidden', async () => {
    const locationId = await newLocation()
    const { tariff } = acceptedValue(await change(tx => createTariff(tx, tariffDraft(locationId), at)))
    const ended = acceptedValue(await change(tx => endTariff(tx, tariff.id, at + dayMs)))
    expect(ended.tariff).toEqual(tariff)
    expect(orderOf(ended)).toMatchObject({ revision: 2, from: at + dayMs, to: null })
    expect(await inLive(tx => retrieveTariff(tx, tariff.id))).toBeNull()
    expect(await change(tx => endTariff(tx, tariff.id, at))).toMatchObject({ refusal: { code: 'not_found' } })
    acceptedValue(await change(tx => createTariff(tx, tariffDraft(locationId), at + dayMs)))
    const [pricing] = await loadLocationPricing(database.operator, [{ ...live, locationId }])
    expect(pricing?.tariffs.map(({ closedAt }) => closedAt)).toEqual([at + dayMs, null])
  })

  it('has no effect after it was voided: all its costs are recalculated', async () => {
    const locationId = await newLocation()
    const { tariff } = acceptedValue(
      await change(tx => createTariff(tx, tariffDraft(locationId, { contractStart: at }), at)),
    )
    const voided = acceptedValue(await change(tx => voidTariff(tx, tariff.id, at + dayMs)))
    expect(orderOf(voided)).toMatchObject({ revision: 2, from: at, to: null })
    const [pricing] = await loadLocationPricing(database.operator, [{ ...live, locationId }])
    expect(pricing).toMatchObject({ revision: 2, tariffs: [] })
  })
})

/** One price per minute of the day, with many digits, so that compression saves little. */
const largeSchedule = (index: number): readonly ScheduleEntry[] => {
  const [entry] = tieredSchedule(1n)
  const hours = Array.from({ length: 1_440 }, (_, minute) => {
    const fixed = (BigInt(index * 1_440 + minute + 1) * 982_451_653_000_003n) % 999_999_999_999_989n
    return {
      validFrom: minute * 60,
      validTo: (minute + 1) * 60,
      rate: [{ fixed, to: null, surchargeFixed: 0n, surchargePercentage: 0n }],
    }
  })
  return entry === undefined ? [] : [{ ...entry, daysAndHours: [{ days: ['All'], hours }] }]
}

describe('a page of tariffs that have many prices', () => {
  it('ends before its limit, in both directions, and each tariff is on one page', async () => {
    const locationId = await newLocation()
    const ids: string[] = []
    for (let index = 0; index < 12; index += 1) {
      const contract = { contractStart: at + index * dayMs, contractEnd: at + (index + 1) * dayMs }
      const schedule = largeSchedule(index)
      ids.unshift(
        acceptedValue(await change(tx => createTariff(tx, tariffDraft(locationId, { ...contract, schedule }), at)))
          .tariff.id,
      )
    }
    const filter = { locationId, ...filterAll }
    const list = async (page: Partial<Paging>) => {
      const { items, hasMore } = await inLive(async tx =>
        acceptedValue(await listTariffPage(tx, filter, { ...newest, ...page })),
      )
      return { items: items.map(read => read()), hasMore }
    }
    const first = await list({})
    expect(first.hasMore).toBe(true)
    expect(first.items.length).toBeGreaterThan(0)
    expect(first.items.length).toBeLessThan(12)
    expect((await inLive(tx => listTariffs(tx, filter))).length).toBe(12)
    const found = first.items.map(({ id }) => id)
    for (let page = first; page.hasMore; ) {
      page = await list({ startingAfter: found.at(-1) ?? null })
      found.push(...page.items.map(({ id }) => id))
    }
    expect(found).toEqual(ids)
    const back = await list({ endingBefore: ids.at(-1) ?? null })
    expect(back.hasMore).toBe(true)
    expect(back.items.map(({ id }) => id)).toEqual(ids.slice(11 - back.items.length, 11))
  })
})
