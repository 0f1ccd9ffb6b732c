import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { readShape } from '../../../services/contract/read-shape.ts'
import { readSimulation, simulationBody } from '../../../services/contract/simulations/simulation-request.ts'
import { dayMs } from '../../../services/domain/interval.ts'
import { copyPricing } from '../../../services/domain/price/pricing-copy.ts'
import { createPricingPool } from '../../../services/domain/tariff/pricing-pool.ts'
import { compileSnapshot } from '../../../services/domain/tariff/snapshot.ts'
import { openChdb } from '../../../services/platform/clickhouse/chdb.ts'
import { statementBlocks } from '../../../services/platform/clickhouse/meter-cost/statement-rows.ts'
import { applySchemas, schemaFiles } from '../../../services/platform/clickhouse/schemas.ts'
import {
  type SimulationHead,
  type SimulationInput,
  simulationWork,
} from '../../../services/query-service/work-thread/simulation-work.ts'
import { acceptedValue } from '../../support/accepted-value.ts'
import { zoneOf } from '../../support/oracle/zone.ts'
import { dataFolder } from '../../support/system/running-system.ts'
import { removeAfterRun } from '../data-folders.ts'
import { medianOf } from '../statistics.ts'
import { type BillRows, insertBillRows, sixCharges } from './bill-rows.ts'

/**
 * CPU times in ms of a simulation over a year of quarter hours.
 * `bareMs`: a bare loop that multiplies the same energies and prices. Promise P15.
 */
export type SimulationFigures = { readonly ms: number; readonly bareMs: number }

const candidateCount = 50
const start = Date.UTC(2025, 0, 1)
const quarterMs = 900_000

/** Rows of a year of quarter hours. */
const slots = 35_040
const locationId = `loc_${'1'.padStart(24, '0')}`
const accountId = `acc_${'1'.padStart(24, '0')}`
const rounds = 5

const dayPrice = (candidate: number): number => (300 + candidate) / 1000
const nightPrice = (candidate: number): number => (200 + candidate) / 1000

/** Return the request for the simulation of a year of a location with 50 candidates. */
export const yearOfCandidates = (locationId: string) => ({
  object_ids: [locationId],
  start_date: '2025-01-01',
  end_date: '2026-01-01',
  candidates: Array.from({ length: candidateCount }, (_, index) => ({
    name: `Candidate ${index}`,
    tariffs: [
      {
        direction: 'IMPORT',
        type: 'COMMODITY',
        schedule: [
          {
            months: ['All'],
            days_and_hours: [
              {
                days: ['All'],
                hours: [
                  { valid_from: '06:00:00', valid_to: '22:00:00', rate: [{ fixed: dayPrice(index) }] },
                  { valid_from: '22:00:00', valid_to: '06:00:00', rate: [{ fixed: nightPrice(index) }] },
                ],
              },
            ],
          },
        ],
      },
    ],
    charges: sixCharges,
  })),
})

/** Return the rows of the year of the simulation. */
export const yearOfRows = (accountId: string, locationId: string): BillRows => ({
  accountId,
  locations: [locationId],
  start,
  lengthMs: quarterMs,
  count: slots,
})

/** Write the rows of a year, and read them as the engine returns them. */
const storedBlocks = async (): Promise<readonly Uint8Array[]> => {
  const folder = dataFolder()
  mkdirSync(folder, { recursive: true })
  const db = openChdb({ folder: join(folder, 'clickhouse') })
  try {
    await applySchemas(db, schemaFiles())
    await insertBillRows(db, yearOfRows(accountId, locationId))
    const interval = { tenant: { accountId, liveMode: false }, locationId, from: start, to: start + 365 * dayMs }
    return await Array.fromAsync(statementBlocks(db, { interval, sessions: null, earlier: null }, slots))
  } finally {
    await db.close()
    removeAfterRun(folder)
  }
}

const inputOf = async (blocks: readonly Uint8Array[]): Promise<SimulationInput> => {
  const body = acceptedValue(readShape(simulationBody, yearOfCandidates(locationId), 'body'))
  const { request, periods } = acceptedValue(await readSimulation(body, () => Promise.resolve()))
  const span = { start, end: start + 365 * dayMs }
  const [first] = request.candidates
  const common = { locationId, currencyCode: 'EUR', timeZone: zoneOf('UTC'), calendar: null }
  const markets = { importMarket: null, exportMarket: null }
  const snapshot = compileSnapshot({ ...common, ...markets, tariffs: first?.tariffs ?? [] }, createPricingPool())
  const includesDevices = { IMPORT: true, EXPORT: true, LOCAL: true, SUPPLIED: true }
  return {
    records: { locationId, span, blocks, includesDevices, priceInterval: span },
    pricing: copyPricing(snapshot, ['IMPORT', 'EXPORT', 'LOCAL'], span),
    countedFrom: null,
    maxRecords: 400_000,
    tariffs: [],
    charges: [],
    calendar: null,
    periods,
    days: request,
    markets: [],
    candidates: request.candidates.map(({ tariffs, charges }) => ({
      tariffs,
      importMarket: null,
      exportMarket: null,
      charges: (charges ?? []).map((terms, index) => ({ ...terms, id: `charges[${index}]`, planId: null })),
    })),
    rounding: { profile: 'EXACT', decimals: 2 },
    hasLines: false,
    now: Date.UTC(2026, 6, 1),
  }
}

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

const check = (head: SimulationHead): void => {
  if (head.state !== 'CALCULATED' || head.bills.length !== candidateCount + 1)
    throw new Error(`The simulation is ${head.state}.`)
}

/** Return the CPU time in ms of a simulation. The clock is read twice: a reading costs as much as many records. */
const simulationMs = (input: SimulationInput): number => {
  const startedAt = cpuMs()
  check(simulationWork(input).head as SimulationHead)
  return cpuMs() - startedAt
}

/** Multiply the energies by the prices of all candidates, and add them up by month: the least that must be done. */
const bareLoop = (): number => {
  const energies = BigInt64Array.from({ length: slots }, (_, slot) => BigInt(250_000_000 + slot * 31_000))
  const months = Uint8Array.from({ length: slots }, (_, slot) => new Date(start + slot * quarterMs).getUTCMonth())
  const startedAt = cpuMs()
  for (let candidate = 0; candidate < candidateCount; candidate += 1) {
    const prices = [nightPrice(candidate), dayPrice(candidate)].map(price => BigInt(Math.round(price * 1e9)))
    const sums = new Array<bigint>(12).fill(0n)
    for (let slot = 0; slot < slots; slot += 1) {
      const hour = Math.floor(slot / 4) % 24
      const price = prices[hour >= 6 && hour < 22 ? 1 : 0] as bigint
      const cost = ((energies[slot] as bigint) * price + 500_000_000n) / 1_000_000_000n
      sums[months[slot] as number] = (sums[months[slot] as number] as bigint) + cost
    }
  }
  return cpuMs() - startedAt
}

/** Measure a simulation of 50 candidates with six charges each over 35,040 quarter hours. Promise P15. */
export const simulationFigures = async (): Promise<SimulationFigures> => {
  const input = await inputOf(await storedBlocks())
  const runs = Array.from({ length: rounds }, () => ({
    ms: simulationMs(input),
    bareMs: bareLoop(),
  }))
  return {
    ms: medianOf(runs.map(({ ms }) => ms)),
    bareMs: medianOf(runs.map(({ bareMs }) => bareMs)),
  }
}

if (import.meta.main) process.stdout.write(`${JSON.stringify(await simulationFigures())}\n`)
