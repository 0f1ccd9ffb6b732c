import { createHash } from 'node:crypto'
import type { AnswerOf, Outcome, RequestOf } from '../../contract/operation.ts'
import {
  type SimulationView,
  simulationCreate,
  simulationRetrieve,
  simulationToWire,
} from '../../contract/simulations/simulation.ts'
import {
  readSimulation,
  refuseGroupedMonths,
  type SimulationRequest,
  simulationLimits,
} from '../../contract/simulations/simulation-request.ts'
import { isId } from '../../domain/identifier.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { addLocationBills, emptySums, type SimulationSums } from '../../domain/simulation/simulation-sums.ts'
import { startTurns } from '../../platform/concurrency/time-slices.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import type { Loop } from '../../platform/jobs/loop.ts'
import {
  createSimulation,
  maxPendingSimulations,
  retrieveSimulation,
  type StoredSimulation,
} from '../../platform/postgres/simulations/simulations.ts'
import { type TenantTransaction, withTenant } from '../../platform/postgres/transaction.ts'
import { tenantOf } from '../change.ts'
import { decimalsOf } from '../statements/run-statement.ts'
import { calculateUnit, type SimulationDependencies } from './calculate-unit.ts'
import { createSeriesReader } from './gather-simulation.ts'
import { loadPlans, type SimulatedPlans } from './load-plans.ts'
import { fromJobText, type SimulationJob, toJobText } from './simulation-job.ts'
import { loadSites, type SimulatedSite } from './simulation-sites.ts'
import { countRows, type SimulationUnit, unitsOf, workOf } from './simulation-units.ts'
import { refuseSpecialDays } from './validate-candidates.ts'

type CreateRequest = RequestOf<typeof simulationCreate>

/** Simulation with its locations and units. `isImmediate`: its work is small enough for an immediate answer. */
type PlannedSimulation = {
  readonly job: SimulationJob
  readonly plans: SimulatedPlans
  readonly units: readonly SimulationUnit[]
  readonly isImmediate: boolean
}

/** Load the plans of the candidates, then the locations. */
const loadSubjects = async (
  dependencies: SimulationDependencies,
  transaction: TenantTransaction,
  request: SimulationRequest,
): Promise<Result<{ readonly sites: readonly SimulatedSite[]; readonly plans: SimulatedPlans }>> => {
  const plans = await loadPlans(transaction, request)
  if (!plans.ok) return plans
  const sites = await loadSites(dependencies, transaction, request, plans.value)
  return sites.ok ? accepted({ sites: sites.value, plans: plans.value }) : sites
}

const planSimulation = async (
  dependencies: SimulationDependencies,
  { body, caller, ...call }: CreateRequest,
): Promise<Result<PlannedSimulation>> => {
  const read = await readSimulation(body, startTurns(caller.accountId))
  if (!read.ok) return read
  const { request, periods } = read.value
  const tenant = tenantOf({ caller })
  const loaded = await withTenant(dependencies.database, tenant, transaction =>
    loadSubjects(dependencies, transaction, request),
  )
  if (!loaded.ok) return loaded
  const { sites, plans } = loaded.value
  const refusal =
    refuseGroupedMonths(request, sites.length, periods.length) ??
    (await refuseSpecialDays(request, sites, plans, caller.accountId))
  if (refusal !== null) return { ok: false, refusal }
  call.signal.throwIfAborted()
  const { total, rowsOf } = await countRows(dependencies.clickHouse, tenant, sites, request)
  const currencyCode = sites[0]?.location.currencyCode ?? ''
  return accepted({
    job: {
      request,
      plans: [...plans.values()],
      currencyCode,
      locationIds: sites.map(({ location }) => location.id),
      decimals: request.rounding.decimals ?? decimalsOf(currencyCode),
    },
    plans,
    units: sites.flatMap(site => unitsOf(site, periods, rowsOf)),
    isImmediate: workOf(request, sites, plans, total) <= simulationLimits.immediateWork,
  })
}

/** Number of units that a request calculates at the same time. */
const maxConcurrent = 2

/** Calculate all units of a simulation and add up their bills. */
const calculateAll = async (
  dependencies: SimulationDependencies,
  { caller, signal, at }: CreateRequest,
  { job: { request, decimals }, plans, units }: PlannedSimulation,
): Promise<Result<SimulationSums>> => {
  const readSeries = createSeriesReader(dependencies.database)
  let sums = emptySums(request.candidates.length, request.isByLocation)
  for (let from = 0; from < units.length; from += maxConcurrent) {
    const some = units.slice(from, from + maxConcurrent)
    const plan = { tenant: tenantOf({ caller }), request, plans, decimals, at, signal, readSeries }
    const calculated = await Promise.all(
      some.map(unit => calculateUnit(dependencies, { ...plan, unit }, caller.accountId)),
    )
    for (const [index, bills] of calculated.entries()) {
      if (!bills.ok) return bills
      const locationId = some[index]?.site.location.id ?? ''
      const added = addLocationBills(sums, { locationId, bills: bills.value })
      if (!added.ok) return added
      sums = added.value
    }
  }
  return accepted(sums)
}

const viewOf = (
  { request, currencyCode, decimals, locationIds }: SimulationJob,
  stored: Pick<StoredSimulation, 'accountId' | 'liveMode' | 'createdAt' | 'refusal' | 'doneCount'> & {
    readonly id: string | null
  },
  sums: SimulationSums | null,
): SimulationView => {
  const [baseline, ...candidates] = sums?.bills ?? []
  return {
    id: stored.id,
    accountId: stored.accountId,
    liveMode: stored.liveMode,
    createdAt: stored.createdAt,
    currencyCode,
    startDay: request.startDay,
    endDay: request.endDay,
    rounding: { profile: request.rounding.profile, decimals },
    names: request.candidates.map(({ name }) => name),
    hasLines: request.hasLines,
    locationCount: locationIds.length,
    doneCount: stored.doneCount,
    refusal: stored.refusal,
    comparison: baseline === undefined ? null : { baseline, candidates },
    locations:
      sums?.locations?.map(({ locationId, bills: [own, ...others] }) => ({
        locationId,
        baseline: own ?? sums.bills[0] ?? raise(),
        candidates: others,
      })) ?? null,
  }
}

const raise = (): never => {
  throw new Error('A simulation has no bills.')
}

const viewOfStored = async (stored: StoredSimulation): Promise<SimulationView> => {
  const { accountId } = stored
  const sums =
    stored.status === 'DONE' && stored.sums !== null ? await fromJobText<SimulationSums>(stored.sums, accountId) : null
  return viewOf(await fromJobText<SimulationJob>(stored.request, accountId), stored, sums)
}

/** Store a large simulation as a job. */
const postpone = async (
  { database }: SimulationDependencies,
  { caller, at }: CreateRequest,
  { job }: PlannedSimulation,
): Promise<Outcome<AnswerOf<typeof simulationCreate>>> => {
  const request = toJobText(job)
  const requestHash = createHash('sha256').update(request).digest('hex')
  const draft = { request, requestHash, locationCount: job.locationIds.length }
  const stored = await withTenant(database, tenantOf({ caller }), transaction =>
    createSimulation(transaction, draft, at),
  )
  if (stored === null) {
    const message = `At most ${maxPendingSimulations} simulations can wait. Send this one after another one is done`
    return refused('too_many_simulations', message)
  }
  return { ok: true, value: simulationToWire(await viewOfStored(stored)), isPending: true }
}

/** Compare candidates with the stored costs. Source: docs/rules/simulations.md #candidates. */
const simulate = async (
  dependencies: SimulationDependencies,
  request: CreateRequest,
): Promise<Outcome<AnswerOf<typeof simulationCreate>>> => {
  const planned = await planSimulation(dependencies, request)
  if (!planned.ok) return planned
  if (!planned.value.isImmediate) return postpone(dependencies, request, planned.value)
  const sums = await calculateAll(dependencies, request, planned.value)
  if (!sums.ok) return sums
  const { caller, at } = request
  const answered = { id: null, accountId: caller.accountId, liveMode: caller.liveMode, createdAt: at, refusal: null }
  const doneCount = planned.value.job.locationIds.length
  return { ok: true, value: simulationToWire(viewOf(planned.value.job, { ...answered, doneCount }, sums.value)) }
}

const noSimulation = refused('not_found', 'No simulation of the last 24 hours has this id')

/** Bind the operations on simulations. `work` calculates the large ones. */
export const simulationOperations = (
  dependencies: SimulationDependencies,
  work: Pick<Loop, 'wake'>,
): readonly Binding[] => [
  bind(simulationCreate, async request => {
    const answer = await simulate(dependencies, request)
    if (answer.ok && answer.isPending) work.wake()
    return answer
  }),
  bind(simulationRetrieve, async request => {
    if (!isId('simulation', request.id)) return noSimulation
    const stored = await withTenant(dependencies.database, tenantOf(request), transaction =>
      retrieveSimulation(transaction, request.id, request.at),
    )
    return stored === null ? noSimulation : accepted(simulationToWire(await viewOfStored(stored)))
  }),
]
