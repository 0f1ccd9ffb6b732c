import type { SimulationRequest } from '../../contract/simulations/simulation-request.ts'
import type { DayRange } from '../../domain/charge/charge-days.ts'
import { accepted, type Refusal, type Result, refused } from '../../domain/refusal.ts'
import type { SimulatedPlan } from '../../domain/simulation/plan-prices.ts'
import { addLocationBills, emptySums, type SimulationSums } from '../../domain/simulation/simulation-sums.ts'
import { statementPeriods } from '../../domain/statement/statement-periods.ts'
import { runInTimeSlices } from '../../platform/concurrency/time-slices.ts'
import { canComeFromWork, Failure, isFailure } from '../../platform/failure.ts'
import {
  countAttempt,
  oldestPendingSimulations,
  retrieveSimulation,
  type SimulationKey,
  type SimulationProgress,
  type StoredSimulation,
  saveProgress,
  uncountAttempt,
} from '../../platform/postgres/simulations/simulations.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import type { LeasedTurn, LeasedWork } from '../../platform/role-module.ts'
import type { Logger } from '../../platform/telemetry/logger.ts'
import { calculateUnit, type SimulationDependencies } from './calculate-unit.ts'
import { createSeriesReader, type SeriesReader } from './gather-simulation.ts'
import { loadSites } from './simulation-sites.ts'
import { countRows, unitsOf } from './simulation-units.ts'

/** Simulation to calculate later. `locationIds`: its locations in order, also those of a customer. */
export type SimulationJob = {
  readonly request: SimulationRequest
  /** Plans of the candidates, as they were at the request. */
  readonly plans: readonly SimulatedPlan[]
  readonly locationIds: readonly string[]
  readonly currencyCode: string
  readonly decimals: number
}

type TaggedInteger = { readonly $integer: string }

const isTagged = (value: unknown): value is TaggedInteger =>
  typeof value === 'object' && value !== null && '$integer' in value

/** Write a job or sums as JSON. Integers of any size are objects with a text. */
export const toJobText = (value: SimulationJob | SimulationSums): string =>
  JSON.stringify(value, (_, one: unknown) => (typeof one === 'bigint' ? { $integer: String(one) } : one))

/** Values that are visited between two pauses. */
const valuesPerPause = 1_000

/** Replace the objects of integers in a parsed value by the integers, in place. */
function* restoreIntegers(root: unknown): Generator<undefined, unknown> {
  const top: Record<string, unknown> = { root }
  const waiting = [top]
  let visited = 0
  for (let parent = waiting.pop(); parent !== undefined; parent = waiting.pop()) {
    for (const [name, value] of Object.entries(parent)) {
      visited += 1
      if (visited % valuesPerPause === 0) yield undefined
      if (isTagged(value)) parent[name] = BigInt(value.$integer)
      else if (typeof value === 'object' && value !== null) waiting.push(value as Record<string, unknown>)
    }
  }
  return top['root']
}

/** Read the text of `toJobText`, in time slices: a job can have 10,000 charges. */
export const fromJobText = async <T extends SimulationJob | SimulationSums>(
  text: string,
  accountId: string,
): Promise<T> => (await runInTimeSlices(restoreIntegers(JSON.parse(text)), accountId)) as T

/** Dependencies of the work on large simulations. */
export type SimulationWorkDependencies = SimulationDependencies & {
  readonly logger: Pick<Logger, 'error'>
  readonly now: () => number
}

/** Time in ms after which the progress of a simulation is stored, and another account gets its turn. */
const turnMs = 2_000
/** Duration of the lease in ms. A third of it after the last renewal, the turn renews it. */
const leaseMs = 15_000
const restMs = 1_000
/** Turns without progress after which a simulation fails. From the second one on, a turn calculates one unit only. */
const maxAttempts = 5
/** Maximum number of accounts that take turns. */
const maxAccounts = 1_000

type JobState = { sums: SimulationSums; doneCount: number; nextDay: number | null }

type JobTurn = LeasedTurn & { readonly endsAt: number; readonly readSeries: SeriesReader }

const leaseLost = (): Failure =>
  new Failure('lease_lost', 'Another process continues the simulation.', { retriable: true })

/** Calculate the next location from `nextDay` on, until the turn ends. */
const continueLocation = async (
  dependencies: SimulationWorkDependencies,
  { accountId, liveMode }: StoredSimulation,
  { request, plans, locationIds, decimals }: SimulationJob,
  state: JobState,
  { renewLease, signal, endsAt, readSeries }: JobTurn,
): Promise<Result<null>> => {
  const tenant = { accountId, liveMode }
  const locationId = locationIds[state.doneCount] ?? ''
  const ofLocation = { ...request, locationIds: [locationId], customerId: null }
  const plansById = new Map(plans.map(plan => [plan.id, plan]))
  const sites = await withTenant(dependencies.database, tenant, transaction =>
    loadSites(dependencies, transaction, ofLocation, plansById),
  )
  if (!sites.ok) return refused(sites.refusal.code, `${sites.refusal.message}: ${locationId}`)
  const periods = statementPeriods(request, 'MONTH')
  const [site] = sites.value
  if (!periods.ok || site === undefined) return periods.ok ? accepted(null) : periods
  const left: readonly DayRange[] = periods.value.filter(({ startDay }) => startDay >= (state.nextDay ?? startDay))
  const { rowsOf } = await countRows(dependencies.clickHouse, tenant, [site], request)
  for (const unit of unitsOf(site, left, rowsOf)) {
    if ((await renewLease()) === null) throw leaseLost()
    const plan = { tenant, unit, request, plans: plansById, decimals, signal, readSeries, at: dependencies.now() }
    // Simulations have a share of the work thread of their own, apart from the requests of the account.
    const bills = await calculateUnit(dependencies, plan, `${accountId} simulations`)
    if (!bills.ok) return bills
    const sums = addLocationBills(state.sums, { locationId, bills: bills.value })
    if (!sums.ok) return sums
    state.sums = sums.value
    state.nextDay = unit.periods.at(-1)?.endDay ?? null
    if (performance.now() >= endsAt) break
  }
  if (state.nextDay === null || state.nextDay >= request.endDay) {
    state.doneCount += 1
    state.nextDay = null
  }
  return accepted(null)
}

const internalError: Refusal = refused(
  'internal_error',
  'The simulation could not be calculated. Send it again, or report it',
).refusal

/** Return the reason of a simulation whose calculation ended its process or its thread again and again. */
const endsProcess = (locationId: string): Refusal =>
  refused(
    'internal_error',
    `The calculation ended early ${maxAttempts} times at the location ${locationId}. Simulate it with fewer days, candidates or charges, or report it`,
  ).refusal

/** Return whether a turn failed for a reason outside of the simulation. */
const isOutside = (error: unknown, { signal }: JobTurn): boolean =>
  signal.aborted || (isFailure(error) && !canComeFromWork(error))

/** Calculate locations until the turn ends. Returns the reason why the simulation fails; null if it does not. */
const continueLocations = async (
  dependencies: SimulationWorkDependencies,
  stored: StoredSimulation,
  job: SimulationJob,
  state: JobState,
  turn: JobTurn,
): Promise<Refusal | null> => {
  try {
    while (state.doneCount < job.locationIds.length) {
      const continued = await continueLocation(dependencies, stored, job, state, turn)
      if (!continued.ok) return continued.refusal
      if (performance.now() >= turn.endsAt) break
    }
    return null
  } catch (error) {
    if (isOutside(error, turn)) await uncountAttempt(dependencies.database.operator, stored)
    if (isFailure(error) || turn.signal.aborted) throw error
    dependencies.logger.error({ err: error, simulationId: stored.id }, 'Simulation failed')
    return internalError
  }
}

/** Continue a simulation for the time of a turn, and store its progress. */
const continueSimulation = async (
  dependencies: SimulationWorkDependencies,
  stored: StoredSimulation,
  turn: JobTurn,
): Promise<void> => {
  const { operator } = dependencies.database
  const attempts = await countAttempt(operator, stored)
  if (attempts === null) return
  const job = await fromJobText<SimulationJob>(stored.request, stored.accountId)
  const sums = stored.sums === null ? null : await fromJobText<SimulationSums>(stored.sums, stored.accountId)
  const state: JobState = {
    sums: sums ?? emptySums(job.request.candidates.length, job.request.isByLocation),
    ...{ doneCount: stored.doneCount, nextDay: stored.nextDay },
  }
  const endsAt = attempts === 1 ? turn.endsAt : performance.now()
  const refusal =
    attempts > maxAttempts
      ? endsProcess(job.locationIds[state.doneCount] ?? '')
      : await continueLocations(dependencies, stored, job, state, { ...turn, endsAt })
  const isDone = state.doneCount >= job.locationIds.length
  const progress: SimulationProgress = {
    ...{ doneCount: state.doneCount, nextDay: state.nextDay, sums: toJobText(state.sums), refusal },
    status: refusal !== null ? 'FAILED' : isDone ? 'DONE' : 'PENDING',
  }
  await saveProgress(operator, stored, progress)
}

/**
 * Create the work on large simulations. Accounts take turns; the progress is stored after each turn, so that another
 * process continues from there.
 * Source: docs/rules/simulations.md #large-simulations.
 */
export const simulationJobs = (dependencies: SimulationWorkDependencies): LeasedWork => {
  const { database, now } = dependencies
  const readSeries = createSeriesReader(database)
  const lastServed = new Map<string, number>()
  let served = 0
  const nextOf = (due: readonly SimulationKey[]): SimulationKey | undefined =>
    due.toSorted((a, b) => (lastServed.get(a.accountId) ?? 0) - (lastServed.get(b.accountId) ?? 0))[0]
  return {
    name: 'simulations',
    restMs,
    leaseMs,
    turn: async leased => {
      const next = nextOf(await oldestPendingSimulations(database.operator, maxAccounts))
      if (next === undefined) {
        lastServed.clear()
        return false
      }
      served += 1
      lastServed.set(next.accountId, served)
      const stored = await withTenant(database, next, transaction => retrieveSimulation(transaction, next.id, now()))
      const endsAt = performance.now() + turnMs
      if (stored?.status !== 'PENDING') return true
      const timer = setInterval(() => void leased.renewLease().catch(() => undefined), leaseMs / 3)
      try {
        await continueSimulation(dependencies, stored, { ...leased, endsAt, readSeries })
      } finally {
        clearInterval(timer)
      }
      return true
    },
  }
}
