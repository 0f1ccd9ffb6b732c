import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Journal, openJournal } from '../support/ledger/journal.ts'
import { type Random, seededRandom } from '../support/random.ts'
import type { Client } from '../support/system/client.ts'
import { fillDataFolder } from '../support/system/prepared-folder.ts'
import { dataFolder, removeData } from '../support/system/running-system.ts'
import { type AuditedSystem, listDeadLetters } from './audited-system.ts'
import { distributedSystem } from './distributed/distributed-system.ts'
import { embeddedSystem } from './embedded-system.ts'
import { createFixture } from './history/create-fixture.ts'
import { planFixture } from './history/plan-fixture.ts'
import { planSteps, type Step } from './history/plan-steps.ts'
import { type AuditOptions, type Kind, minMsPerFault } from './options.ts'
import { type AuditEntry, type Progress, sizeOf } from './send/entries.ts'
import { sendSteps } from './send/send-steps.ts'
import { type AuditVerdict, deleteSomeLocations, verify } from './verify/verify.ts'

/** Callback for the progress of a phase. */
export type Observer = (
  phase: 'fixture' | 'load' | 'recosts' | 'receipts' | 'records',
  done: number,
  total: number,
) => void

/** Progress of the load, and the kinds of the faults so far. */
export type FaultProgress = Progress & { readonly faults: readonly string[] }

/** Open audit. `load` sends everything once; `verify` can be called several times after it. */
export type Audit = AsyncDisposable & {
  readonly folder: string
  readonly journalFile: string
  readonly progress: FaultProgress
  readonly load: () => Promise<void>
  readonly verify: () => Promise<AuditVerdict>
  /** Alter one stored row while the system is stopped. Returns the record's id. */
  readonly alter: () => Promise<string>
  /** Do not remove data and journal when the audit is closed. */
  readonly keepData: () => void
}

type Load = {
  readonly system: AuditedSystem
  readonly random: Random
  readonly progress: Pick<Progress, 'records'> & { readonly faults: string[] }
  readonly kills: number
  /** Number of records in the load. */
  readonly total: number
  readonly observe: Observer
  /** Send all records. The signal is aborted if a fault could not be injected. */
  readonly send: (signal: AbortSignal) => Promise<void>
  /** Additional work that continues until the signal is aborted: at the end of the load, or by an error. */
  readonly during?: (signal: AbortSignal) => Promise<void>
}

/**
 * Inject faults at random points of the load, one in each equal share of the records. Faults that are left follow the
 * load.
 */
const injectFaults = async ({ system, random, progress, kills, total }: Load, signal: AbortSignal): Promise<void> => {
  for (let kill = 0; kill < kills; kill += 1) {
    const at = (total * (kill + 0.2 + random.below(600) / 1_000)) / kills
    const delayMs = random.below(300)
    while (progress.records < at && !signal.aborted) await sleep(10)
    await sleep(delayMs)
    if (signal.reason instanceof Error) return
    progress.faults.push(await system.injectFault(random))
  }
}

/** Send a load while faults are injected. The first error aborts all parts. */
export const runLoad = async (load: Load): Promise<void> => {
  const { progress, total, observe, send, during = async () => undefined } = load
  const ended = new AbortController()
  const { signal } = ended
  const abort = (error: unknown): never => {
    ended.abort(error)
    throw error
  }
  const progressTimer = setInterval(() => observe('load', progress.records, total), 200)
  const sending = send(signal).then(() => ended.abort('all is sent'), abort)
  const others = [injectFaults(load, signal), during(signal)].map(part => part.catch(abort))
  await Promise.all([sending, ...others]).finally(() => clearInterval(progressTimer))
  observe('load', progress.records, total)
}

const clientOf = (system: AuditedSystem): Client => {
  const caller = system.caller()
  if (caller === null) throw new Error('The system does not run.')
  return caller.client
}

type AuditRun = Pick<Load, 'system' | 'random' | 'observe'> & {
  readonly options: AuditOptions
  readonly progress: Progress & { readonly faults: string[] }
  readonly journal: Journal<AuditEntry>
}

/**
 * Send the steps of a history while faults are injected. A distributed audit sends slowly, so that each fault has a
 * load.
 */
const sendHistory = async (run: AuditRun, steps: readonly Step[]): Promise<void> => {
  const { system, options, observe, random, progress, journal } = run
  const { isDistributed, kills, connections } = options
  const total = steps.reduce((sum, step) => sum + sizeOf(step), 0)
  const minLoadMs = isDistributed ? kills * minMsPerFault : 0
  const isAhead = (): boolean =>
    isDistributed && kills > 0 && progress.records > (total * (progress.faults.length + 1)) / kills
  const send = (signal: AbortSignal): Promise<void> => {
    const waitForTurn = async (size: number): Promise<void> => {
      await sleep((connections * minLoadMs * size) / total)
      while (isAhead() && !signal.aborted) await sleep(20)
    }
    return sendSteps({ system, journal, connections, progress, waitForTurn }, steps)
  }
  await runLoad({ system, random, progress, kills, total, observe, send })
}

/** Open an audit on a new data folder: start the system and create the fixture. */
export const openAudit = async (options: AuditOptions, observe: Observer): Promise<Audit> => {
  const folder = dataFolder()
  const journalFile = join(folder, '..', 'ledger.ndjson')
  const { isDistributed, records, locations, seed, without } = options
  let { isDataRetained } = options
  const has = (kind: Kind): boolean => !without.has(kind)
  const hasRepricing = has('repricing')
  await using opening = new AsyncDisposableStack()
  opening.defer(() => {
    if (!isDataRetained) removeData(folder)
  })
  if (!isDistributed) await fillDataFolder(folder)
  const system = opening.use(isDistributed ? await distributedSystem(folder) : embeddedSystem(folder))
  const random = seededRandom(seed)
  const progress = { records: 0, changes: 0, leftOut: 0, refused: [] as string[], faults: [] as string[] }
  const planned = planFixture(random, locations, { hasLatePrices: hasRepricing })
  const fixture = await createFixture(await system.start(), planned, done => observe('fixture', done, locations))

  const load = async (): Promise<void> => {
    await using journal = await openJournal<AuditEntry>(journalFile)
    const kinds = { hasRepricing, hasEstimates: has('estimates'), hasRegisters: has('registers') }
    const steps = planSteps(random, fixture, { records, ...kinds })
    await sendHistory({ system, options, observe, random, progress, journal }, steps)
    // Records of a deleted location are not recosted. If changes alter costs, recosting must end before the deletion.
    if (!hasRepricing) await deleteSomeLocations(clientOf(system), fixture)
  }

  const open = opening.move()
  return {
    folder,
    journalFile,
    progress,
    load,
    verify: () =>
      verify({
        client: clientOf(system),
        deadLetters: () => listDeadLetters(system.sandbox()),
        unread: system.unread,
        failedStops: system.failedStops(),
        fixture,
        journalFile,
        hasRepricing,
        refused: progress.refused,
        observe,
      }),
    keepData: () => {
      isDataRetained = true
    },
    alter: async () => {
      await system.stop()
      const id = await system.alterRow()
      await system.start()
      return id
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}
