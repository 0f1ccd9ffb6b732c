import { setTimeout as sleep } from 'node:timers/promises'
import {
  createLocation,
  createPriced,
  epoch,
  hourlyRecords,
  hourMs,
  iso,
  longRecord,
  scheduleOf,
  submitAll,
} from '../fixtures.ts'
import { type HostileInput, playCopies, playOf } from '../input.ts'
import type { Caller } from '../target.ts'

const subject = 'bills'
const year = { start_date: '2025-01-01', end_date: '2026-01-01' }
const unavailable = 503

/** Return `count` values of an index. */
const listOf = <T>(count: number, at: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, index) => at(index))

const chargeOf = (kind: string, index: number, more: object) => ({ kind, name: `${kind} ${index}`, ...more })

/** Windows with hours that differ, so that each charge has weights of its own. */
const windowsOf = (count: number, charge: number) =>
  listOf(count, window => ({
    dates: [1 + (window % 28)],
    hours: listOf(50, hour => ({
      valid_from: `${String(hour % 24).padStart(2, '0')}:${String((charge + hour) % 60).padStart(2, '0')}:00`,
      valid_to: `${String((hour + 1) % 24).padStart(2, '0')}:${String((charge + window) % 60).padStart(2, '0')}:30`,
    })),
    weight: ((window % 9) + 1) / 10,
  }))

type WithId = { readonly id: string }

/** Wait until an object has another status. */
const waitForEnd = async (hostile: Caller, path: string, unfinished: string): Promise<void> => {
  while ((await hostile.ask<{ readonly status: string }>('GET', path)).status === unfinished) await sleep(100)
}

/** Create the charges of a location by a plan, which takes two requests. */
const addCharges = async (hostile: Caller, location: string, charges: readonly object[]): Promise<void> => {
  const body = { name: 'charges', currency_code: 'EUR', tariffs: [], charges }
  const { id } = await hostile.ask<WithId>('POST', '/plans', body)
  const { failed } = await hostile.ask<{ readonly failed: readonly object[] }>('POST', `/plans/${id}/assignments`, [
    { location_id: location, start_date: '2020-01-01' },
  ])
  if (failed.length > 0) throw new Error(JSON.stringify(failed))
}

/** Return an input that asks for the statement of a location with charges and stored records. */
const statementInput = (
  name: string,
  size: number,
  unit: string,
  make: (size: number) => {
    readonly charges: readonly object[]
    readonly records: (location: string) => readonly object[]
    readonly bands?: number
  },
  more: Partial<HostileInput> & { readonly request?: object } = {},
): HostileInput => {
  const { request = {}, ...rest } = more
  return {
    subject,
    name,
    size,
    unit,
    statuses: [200],
    endsWithinS: 60,
    open: async ({ hostile }, of) => {
      const { charges, records, bands = 24 } = make(of)
      const location = await createPriced(hostile, scheduleOf(bands))
      if (charges.length > 0) await addCharges(hostile, location, charges)
      await submitAll(hostile, records(location))
      const body = { ...year, expect: 'NOTHING', ...request }
      return playOf(() => hostile.send('POST', `/statements/${location}`, body))
    },
    ...rest,
  }
}

const hourly = (count: number) => (location: string) => hourlyRecords(location, count)

/** Sessions of one hour, each a record of its own. */
const sessions = (count: number) => (location: string) =>
  hourlyRecords(location, count).map((record, index) => ({ ...record, session_reference_id: `session ${index}` }))

/** Return an input that simulates candidates. */
const simulationInput = (
  name: string,
  size: number,
  candidates: (size: number) => readonly object[],
  more: Partial<HostileInput> & {
    readonly records?: (location: string) => readonly object[]
    readonly bands?: number
  } = {},
): HostileInput => {
  const { records = hourly(2_000), bands = 24, ...rest } = more
  return {
    subject,
    name,
    size,
    unit: 'candidates',
    statuses: [200, 202],
    endsWithinS: 90,
    open: async ({ hostile }, of) => {
      const location = await createPriced(hostile, scheduleOf(bands))
      await submitAll(hostile, records(location))
      const body = JSON.stringify({ object_ids: [location], ...year, candidates: candidates(of) })
      return async () => {
        const { status, text } = await hostile.send('POST', '/simulations', body)
        if (status === 202) await waitForEnd(hostile, `/simulations/${(JSON.parse(text) as WithId).id}`, 'PENDING')
        return [status]
      }
    },
    ...rest,
  }
}

const flatTariff = (schedule: readonly object[]) => ({ direction: 'IMPORT', type: 'COMMODITY', schedule })

/** Statements and simulations of the largest charges, records and candidates, and batches of many ids. */
export const bills: readonly HostileInput[] = [
  statementInput('a statement of a year with 200 peaks of a quarter hour', 200, 'charges', count => ({
    charges: listOf(count, index =>
      chargeOf('DEMAND', index, {
        price: 1,
        interval_minutes: 15,
        highest: 100,
        distinct_days: index % 2 === 0,
        over: 'ROLLING',
        rolling_months: 24,
      }),
    ),
    records: hourly(2_000),
  })),
  statementInput('a statement of a year with peaks in many windows', 200, 'charges', count => ({
    charges: listOf(count, index =>
      chargeOf('DEMAND', index, { price: 1, windows: windowsOf(count > 100 ? 2 : 1, index) }),
    ),
    records: hourly(2_000),
  })),
  statementInput(
    'a statement with 200 percentages of percentages',
    200,
    'charges',
    count => ({
      charges: listOf(count, index =>
        chargeOf('PERCENTAGE', index, {
          rate: 0.01,
          sequence: index,
          start_date: iso(epoch + (index + 1) * 30 * hourMs).slice(0, 10),
        }),
      ),
      records: hourly(2_000),
    }),
    { isShort: true, request: { rounding: { profile: 'EN16931' } } },
  ),
  statementInput('a statement with 200 charges of 1,000 sessions', 200, 'charges', count => ({
    charges: listOf(count, index =>
      chargeOf('SESSION', index, {
        price: 0.01,
        per: 'MINUTE',
        windows: [{ hours: [{ valid_from: '08:00:00', valid_to: '20:00:00' }] }],
      }),
    ),
    records: sessions(1_000),
  })),
  statementInput('a statement with a record of 364 days at many bands', 1_440, 'bands', bands => ({
    charges: [],
    records: location => [longRecord(location, 364)],
    bands,
  })),
  statementInput(
    'a statement with usage at many prices',
    100,
    'charges',
    count => ({
      charges: listOf(count, index => chargeOf('USAGE', index, { schedule: scheduleOf(96) })),
      records: hourly(2_000),
    }),
    { request: { detail: 'PRICE' }, statuses: [200, 400] },
  ),
  {
    ...statementInput('statements of a year at once', 16, 'statements', () => ({
      charges: [],
      records: hourly(8_760),
    })),
    statuses: [200, unavailable],
    growsTo: null,
    open: async ({ hostile }, size) => {
      const location = await createPriced(hostile, scheduleOf(24))
      await submitAll(hostile, hourlyRecords(location, 8_760))
      return playCopies(size, () => hostile.send('POST', `/statements/${location}`, { ...year, expect: 'NOTHING' }))
    },
  },
  simulationInput(
    'a simulation of 50 candidates with many bands',
    50,
    count => listOf(count, index => ({ name: `c ${index}`, tariffs: [flatTariff(scheduleOf(150))] })),
    { isShort: true },
  ),
  simulationInput('a simulation of 50 candidates with 100 tariffs', 50, count =>
    listOf(count, index => ({
      name: `c ${index}`,
      tariffs: listOf(60, at => ({
        ...flatTariff(scheduleOf(1)),
        contract_start_date: iso(epoch + at * 24 * hourMs),
        contract_end_date: iso(epoch + (at + 1) * 24 * hourMs),
      })),
    })),
  ),
  simulationInput('a simulation of 50 candidates with many peaks', 50, count =>
    listOf(count, index => ({
      name: `c ${index}`,
      charges: listOf(100, at => chargeOf('DEMAND', at, { price: 1, interval_minutes: 15, highest: 100 })),
    })),
  ),
  simulationInput(
    'a simulation of a record of 364 days at many bands',
    20,
    count =>
      listOf(count, index => ({ name: `c ${index}`, tariffs: [flatTariff(scheduleOf(150, { shiftS: index }))] })),
    { records: location => [longRecord(location, 364)] },
  ),
  {
    subject,
    name: 'a batch of statements of unknown locations',
    size: 20_000,
    unit: 'ids',
    statuses: [400, 404],
    open: async ({ hostile }, size) => {
      const ids = listOf(size, index => `loc_${index.toString(16).padStart(24, '0')}`)
      const body = JSON.stringify({ object_ids: ids, ...year })
      return playOf(() => hostile.send('POST', '/statements/batch', body))
    },
  },
  {
    subject,
    name: 'a batch of statements with 100 peaks',
    size: 40,
    unit: 'locations',
    statuses: [202],
    growsTo: null,
    endsWithinS: 120,
    isOnce: true,
    open: async ({ hostile }, size) => {
      const ids: string[] = []
      for (let at = 0; at < size; at += 1) ids.push(await createLocation(hostile))
      const charges = listOf(100, at => chargeOf('DEMAND', at, { price: 1, interval_minutes: 15, highest: 100 }))
      const plan = await hostile.ask<WithId>('POST', '/plans', {
        name: 'p',
        currency_code: 'EUR',
        charges,
        tariffs: [],
      })
      await hostile.ask(
        'POST',
        `/plans/${plan.id}/assignments`,
        ids.map(location_id => ({ location_id, start_date: '2025-01-01' })),
      )
      await submitAll(
        hostile,
        ids.flatMap(id => hourlyRecords(id, 100)),
      )
      return async () => {
        const { status, text } = await hostile.send('POST', '/statements/batch', {
          object_ids: ids,
          ...year,
          expect: 'NOTHING',
        })
        const { id } = JSON.parse(text) as WithId
        await waitForEnd(hostile, `/statements/batch/${id}`, 'RUNNING')
        return [status]
      }
    },
  },
]
