import type { SimulationRequest } from '../../contract/simulations/simulation-request.ts'
import type { DayRange } from '../../domain/charge/charge-days.ts'
import { accepted, type Refusal, type Result, refused } from '../../domain/refusal.ts'
import type { SimulatedPlan } from '../../domain/simulation/plan-prices.ts'
import { addLocationBills, emptySums, type SimulationSums } from '../../domain/simulation/simulation-sums.ts'
import { statementPeriods } from '../../domain/statement/statement-periods.ts'
import { runInTimeSlices } from '../../platform/concurrency/time-slices.ts'
import { canComeFromWork, isFailure } from '../../platform/failure.ts'
import { type JobEnd, startJobs } from '../../platform/jobs/jobs.ts'
import type { Loop } from '../../platform/jobs/loop.ts'
import {
  type ClaimedSimulation,
  claimSimulation,
  type SimulationProgress,
  saveProgress,
  simulationJobs,
} from '../../platform/postgres/simulations/simulations.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
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
  readonly logger: Pick<Logger, 'error' | 'warn'>
  readonly now: () => number
}

/** Time in ms after which the progress of a simulation is stored, and another account gets its turn. */
const turnMs = 2_000
/** Turns without progress after which a simulation fails. From the second one on, a turn calculates one unit only. */
const maxAttempts = 5

type JobState = { sums: SimulationSums; doneCount: number; nextDay: number | null }

/** Turn of a simulation. The signal is aborted if the process stops or another process continues the simulation. */
type JobTurn = { readonly signal: AbortSignal; readonly endsAt: number; readonly readSeries: SeriesReader }

/** Calculate the next location from `nextDay` on, until the turn ends. */
const continueLocation = async (
  dependencies: SimulationWorkDependencies,
  { accountId, liveMode }: ClaimedSimulation,
  { request, plans, locationIds, decimals }: SimulationJob,
  state: JobState,
  { signal, endsAt, readSeries }: JobTurn,
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
    signal.throwIfAborted()
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

/** Calculate locations until the turn ends. Returns the reason why the simulation fails; null if it does not. */
const continueLocations = async (
  dependencies: SimulationWorkDependencies,
  claimed: ClaimedSimulation,
  job: SimulationJob,
  state: JobState,
  turn: JobTurn,
): Promise<Refusal | null> => {
  try {
    while (state.doneCount < job.locationIds.length) {
      const continued = await continueLocation(dependencies, claimed, job, state, turn)
      if (!continued.ok) return continued.refusal
      if (performance.now() >= turn.endsAt) break
    }
    return null
  } catch (error) {
    if (isFailure(error) || turn.signal.aborted) throw error
    dependencies.logger.error({ err: error, simulationId: claimed.id }, 'Simulation failed')
    return internalError
  }
}

/** Continue a simulation for the time of a turn, and store its progress. */
const continueSimulation = async (
  dependencies: SimulationWorkDependencies,
  readSeries: SeriesReader,
  claimed: ClaimedSimulation,
  signal: AbortSignal,
): Promise<JobEnd> => {
  const { request, accountId, attempts } = claimed
  const endsAt = performance.now() + (attempts === 1 ? turnMs : 0)
  const job = await fromJobText<SimulationJob>(request, accountId)
  const sums = claimed.sums === null ? null : await fromJobText<SimulationSums>(claimed.sums, accountId)
  const state: JobState = {
    sums: sums ?? emptySums(job.request.candidates.length, job.request.isByLocation),
    doneCount: claimed.doneCount,
    nextDay: claimed.nextDay,
  }
  const refusal =
    attempts > maxAttempts
      ? endsProcess(job.locationIds[state.doneCount] ?? '')
      : await continueLocations(dependencies, claimed, job, state, { signal, endsAt, readSeries })
  const isDone = state.doneCount >= job.locationIds.length
  const progress: SimulationProgress = {
    doneCount: state.doneCount,
    nextDay: state.nextDay,
    sums: toJobText(state.sums),
    refusal,
    status: refusal !== null ? 'FAILED' : isDone ? 'DONE' : 'PENDING',
  }
  await saveProgress(dependencies.database.operator, claimed, progress)
  return 'ENDED'
}

/**
 * Work on large simulations, one at a time. The progress is stored after each turn, so that any process continues from
 * there.
 * Source: docs/rules/simulations.md #large-simulations.
 */
export const startSimulationWork = (dependencies: SimulationWorkDependencies): Loop => {
  const readSeries = createSeriesReader(dependencies.database)
  return startJobs(dependencies, {
    name: 'simulations',
    kind: simulationJobs,
    claims: [durationMs => claimSimulation(dependencies.database.operator, durationMs)],
    run: (claimed, signal) => continueSimulation(dependencies, readSeries, claimed, signal),
    isOutage: error => isFailure(error) && !canComeFromWork(error),
  })
}
