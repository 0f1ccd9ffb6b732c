import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ChargeTerms } from '../../../../../services/domain/charge/charge.ts'
import {
  chargeOf,
  chargeTermsFromRow,
  chargeTermsToRow,
} from '../../../../../services/platform/postgres/pricing/charge-row.ts'
import {
  chargesOf,
  createCharge,
  deleteCharge,
  listChargePage,
  lockCharge,
  retrieveCharge,
  updateCharge,
} from '../../../../../services/platform/postgres/pricing/charges.ts'
import { createDevice } from '../../../../../services/platform/postgres/registry/devices.ts'
import { createLocation, deleteLocation } from '../../../../../services/platform/postgres/registry/locations.ts'
import { withTenant } from '../../../../../services/platform/postgres/transaction.ts'
import { acceptedValue } from '../../../../support/accepted-value.ts'
import { charges } from '../../../../support/bill-oracle/generate-charges.ts'
import { readChargeText } from '../../../../support/charges/read-charge-text.ts'
import { chargeDraft, locationDraft } from '../../../../support/registry/drafts.ts'
import { useTenants } from '../../../../support/registry/use-database.ts'

const at = 1_760_000_000_000
const { database, test, inLive, change } = await useTenants()

const newLocation = async (): Promise<string> =>
  acceptedValue(await change(tx => createLocation(tx, locationDraft(), at))).id

const readTerms = (body: object): ChargeTerms => acceptedValue(readChargeText(JSON.stringify({ name: 'c', ...body })))

const create = (locationId: string, terms: ChargeTerms = chargeDraft(locationId).terms) =>
  change(tx => createCharge(tx, { ...chargeDraft(locationId), terms }, at))

const newest = { limit: 100, startingAfter: null, endingBefore: null }
const listed = async (locationId: string) => {
  const page = acceptedValue(await inLive(tx => listChargePage(tx, { locationId }, newest)))
  return page.items.map(read => read())
}

/** Create a schedule of energy prices with a time band for each minute of a day, in some entries. */
const longSchedule = (entries: number) => {
  const clock = (minute: number): string =>
    `${String(Math.floor(minute / 60) % 24).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}:00`
  const hours = Array.from({ length: 1440 }, (_, minute) => ({
    valid_from: clock(minute),
    valid_to: clock(minute + 1),
    rate: [{ fixed: 0.123456789 }],
  }))
  return Array.from({ length: entries }, (_, entry) => ({
    dates: Array.from({ length: 31 }, (_date, index) => index + 1).filter(date => date % entries === entry),
    days_and_hours: [{ hours }],
  }))
}

describe('the terms of a charge', () => {
  it('are read as they were written', () => {
    const dates = fc.constantFrom('2026-02-28', '2026-03-01')
    fc.assert(
      fc.property(charges({ names: ['Holidays'], dates, month: 2026 * 12 }), body => {
        const terms = readTerms(body)
        expect(chargeTermsFromRow(chargeTermsToRow(terms))).toEqual(terms)
      }),
      { numRuns: 200 },
    )
  })

  it('are read from the database as they were written, by id, by location and in lists', async () => {
    const locationId = await newLocation()
    const bodies = [
      { kind: 'FIXED', price: 12.5, quantity: 3, start_date: '2026-01-01' },
      { kind: 'USAGE', schedule: longSchedule(1) },
      {
        kind: 'DEMAND',
        tiers: [{ to_kw: 5, price: 1 }, { price: 2 }],
        round_kw: {},
        ratchet: { share: 0.8, months: 3 },
      },
      { kind: 'MINIMUM', amount: 5, per_kwh: 0.1, base: { kinds: ['ENERGY'] } },
      { kind: 'PERCENTAGE', rate: 0.25 },
    ]
    const created = []
    for (const body of bodies) created.push(acceptedValue(await create(locationId, readTerms(body))))
    expect(created.map(({ terms }) => terms)).toEqual(bodies.map(readTerms))
    for (const charge of created) expect(await inLive(tx => retrieveCharge(tx, charge.id))).toEqual(charge)
    expect((await inLive(tx => chargesOf(tx, [locationId, 'loc_x']))).get(locationId)).toEqual(created)
    expect(await listed(locationId)).toEqual(created.toReversed())
    expect(chargeOf(created[0] ?? expect.fail())).toMatchObject({ planId: null, kind: 'FIXED', id: created[0]?.id })
  })
})

describe('a charge', () => {
  it('is refused at a location that does not exist or is deleted, and for a device that does not exist', async () => {
    const deleted = await newLocation()
    acceptedValue(await change(tx => deleteLocation(tx, deleted, at)))
    for (const id of [deleted, 'loc_0198c0ffee00112233445566'])
      expect(await create(id)).toMatchObject({ refusal: { code: 'location_not_found', field: 'location_id' } })
    const locationId = await newLocation()
    const device = await inLive(tx =>
      createDevice(tx, { referenceId: 'wall box', displayName: null, register: null, metadata: {} }, at),
    )
    const draft = chargeDraft(locationId, [device.id, 'dev_0198c0ffee00112233445566'])
    expect(await change(tx => createCharge(tx, draft, at))).toMatchObject({
      refusal: { code: 'device_not_found', field: 'device_ids[1]' },
    })
    expect(await change(tx => createCharge(tx, chargeDraft(locationId, [device.id]), at))).toMatchObject({ ok: true })
  })

  it('belongs to its account and mode', async () => {
    const { id, locationId } = acceptedValue(await create(await newLocation()))
    expect(await withTenant(database, test, tx => retrieveCharge(tx, id))).toBeNull()
    expect((await withTenant(database, test, tx => chargesOf(tx, [locationId]))).size).toBe(0)
    expect(await withTenant(database, test, tx => deleteCharge(tx, id, at))).toMatchObject({ ok: false })
    expect(await inLive(tx => retrieveCharge(tx, id))).not.toBeNull()
  })

  it('is changed, and keeps its other members', async () => {
    const charge = acceptedValue(await create(await newLocation()))
    const update = (patch: object) =>
      change(async tx => updateCharge(tx, (await lockCharge(tx, charge.id)) ?? expect.fail(), patch))
    const changed = { ...charge, terms: { ...charge.terms, name: 'Idle fee', startDay: 20_000 } }
    expect(await update({ name: 'Idle fee', startDay: 20_000 })).toEqual({ ok: true, value: changed })
    expect(await update({ endDay: 20_000 })).toMatchObject({ refusal: { code: 'end_before_start', field: 'end_date' } })
    expect(await inLive(tx => retrieveCharge(tx, charge.id))).toEqual(changed)
  })

  it('is absent after its deletion, and only on statements after the deletion of its location', async () => {
    const locationId = await newLocation()
    const [first, second] = [acceptedValue(await create(locationId)), acceptedValue(await create(locationId))]
    expect(await change(tx => deleteCharge(tx, first.id, at))).toEqual({ ok: true, value: first })
    expect(await change(tx => deleteCharge(tx, first.id, at))).toMatchObject({ refusal: { code: 'not_found' } })
    expect(await listed(locationId)).toEqual([second])
    const after = { ...newest, startingAfter: first.id }
    expect(await inLive(tx => listChargePage(tx, { locationId }, after))).toMatchObject({ value: { items: [] } })
    acceptedValue(await change(tx => deleteLocation(tx, locationId, at)))
    expect(await inLive(tx => retrieveCharge(tx, second.id))).toBeNull()
    expect(acceptedValue(await inLive(tx => listChargePage(tx, { locationId }, newest))).items).toEqual([])
    expect((await inLive(tx => chargesOf(tx, [locationId]))).get(locationId)).toEqual([second])
  })
})

describe('the charges of a location', () => {
  it('are at most 200, also if they are created at the same time', async () => {
    const locationId = await newLocation()
    await inLive(async tx => {
      for (let count = 0; count < 198; count += 1) acceptedValue(await createCharge(tx, chargeDraft(locationId), at))
    })
    const results = await Promise.all(Array.from({ length: 5 }, () => create(locationId)))
    expect(results.filter(({ ok }) => ok)).toHaveLength(2)
    expect(results.find(({ ok }) => !ok)).toMatchObject({
      refusal: {
        code: 'charge_invalid',
        field: 'location_id',
        message: expect.stringContaining('at most 200 charges'),
      },
    })
    const [newestOne] = await listed(locationId)
    acceptedValue(await change(tx => deleteCharge(tx, newestOne?.id ?? '', at)))
    expect(await create(locationId)).toMatchObject({ ok: true })
  })

  it('have at most 4 MiB of schedules', async () => {
    const locationId = await newLocation()
    const terms = readTerms({ kind: 'USAGE', schedule: longSchedule(8) })
    const { schedule } = chargeTermsToRow(terms)
    const fitting = Math.floor((4 * 1024 ** 2) / (schedule?.length ?? 0))
    expect(fitting).toBeGreaterThan(1)
    for (let count = 0; count < fitting; count += 1) acceptedValue(await create(locationId, terms))
    expect(await create(locationId, terms)).toMatchObject({ refusal: { code: 'charge_invalid', field: 'schedule' } })
    expect(await create(locationId)).toMatchObject({ ok: true })
    expect(await listed(locationId)).not.toEqual([])
  })
})
