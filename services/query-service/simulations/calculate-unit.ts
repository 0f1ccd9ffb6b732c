import { accepted, type Result } from '../../domain/refusal.ts'
import type { Bill } from '../../domain/simulation/bill.ts'
import type { WorkThread } from '../../platform/work-thread/work-thread.ts'
import { changing } from '../statements/run-statement.ts'
import { discardWork, runWork } from '../work-thread/run-work.ts'
import type { SimulationHead, SimulationInput } from '../work-thread/simulation-work.ts'
import { type SimulationStores, type UnitPlan, withSimulationInput } from './gather-simulation.ts'

export type SimulationDependencies = SimulationStores & {
  /** Thread that runs the work of large requests. */
  readonly thread: Pick<WorkThread, 'begin'>
}

/** Maximum bytes of records × bills, and days × charges of all bills, that the request thread calculates: some ms. */
const maxInline = { bytes: 65_536, days: 400 }

const isSmall = ({ candidates, charges, periods }: SimulationInput, bytes: number): boolean => {
  const days = periods.reduce((sum, { startDay, endDay }) => sum + endDay - startDay, 0)
  const lines = candidates.reduce((sum, one) => sum + one.charges.length + 1, charges.length + 1)
  return bytes * (candidates.length + 1) <= maxInline.bytes && days * lines <= maxInline.days
}

/**
 * Calculate the bills of a unit: of the stored costs, then of each candidate. `account`: account whose share of the
 * work thread is used.
 * Refuses what `simulateLocation` refuses, too many records, and `unavailable` if too much work of the account waits.
 * Throws `Failure` if a store is unavailable, or if the stored costs changed during the read.
 */
export const calculateUnit = (
  dependencies: SimulationDependencies,
  plan: UnitPlan,
  account: string,
): Promise<Result<readonly Bill[]>> =>
  withSimulationInput(dependencies, plan, async (input, bytes) => {
    const started = await runWork(dependencies.thread, {
      name: 'simulation',
      input,
      isSmall: isSmall(input, bytes),
      bytes,
      account,
      signal: plan.signal,
    })
    if (!started.ok) return started
    const head = started.value.head as SimulationHead
    await discardWork(started.value)
    if (head.state === 'CALCULATED') return accepted(head.bills)
    if (head.state === 'CHANGING') throw changing()
    return { ok: false, refusal: head.refusal }
  })
