import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openJournal } from '../support/ledger/journal.ts'
import { type Random, seeded } from '../support/ledger/random.ts'
import type { Client } from '../support/system/client.ts'
import { dataFolder, removeData } from '../support/system/running-system.ts'
import { type AuditedSystem, listDeadLetters } from './audited-system.ts'
import { distributedSystem } from './distributed/distributed-system.ts'
import { embeddedSystem } from './embedded-system.ts'
import { createFixture } from './history/create-fixture.ts'
import { planFixture } from './history/plan-fixture.ts'
import { planSteps } from './history/plan-steps.ts'
import { type AuditOptions, type Kind, minMsPerFault } from './options.ts'
import { type AuditEntry, type Progress, sizeOf } from './send/entries.ts'
import { sendSteps } from './send/send-steps.ts'
import { type AuditVerdict, deleteSomeLocations, verify } from './verify/verify.ts'

/** What an audit tells while it works: how much of a phase is done. */
export type Observer = (phase: 'world' | 'load' | 'receipts' | 'records', done: number, total: number) => void

/** How far the sending is, and the kinds of harm done so far. */
export type FaultProgress = Progress & { readonly faults: readonly string[] }

/** An audit under way: send everything once, then judge as often as wanted. */
export type Audit = AsyncDisposable & {
  readonly folder: string
  readonly journalFile: string
  readonly progress: FaultProgress
  readonly load: () => Promise<void>
  readonly verify: () => Promise<AuditVerdict>
  /** Alter one stored row by hand while the system is stopped; gives the record's id. */
  readonly alter: () => Promise<string>
  /** Leave data and journal where they are when the audit is closed. */
  readonly keepData: () => void
}

type FaultInjection = {
  readonly system: AuditedSystem
  readonly random: Random
  readonly progress: Pick<Progress, 'records'> & { readonly faults: string[] }
  readonly kills: number
  /** Records that will be sent. */
  readonly total: number
  /** Aborted when all is sent, or by the error that ended the sending. */
  readonly signal: AbortSignal
}

/** Harm the system each time another share of the records is sent, give or take; what is left of the kills when all is sent, then. */
export const injectFaultsWhileSending = async ({
  system,
  random,
  progress,
  kills,
  total,
  signal,
}: FaultInjection): Promise<void> => {
  for (let kill = 0; kill < kills; kill += 1) {
    const at = (total * (kill + 0.2 + random.whole(600) / 1_000)) / kills
    const delayMs = random.whole(300)
    while (progress.records < at && !signal.aborted) await sleep(10)
    await sleep(delayMs)
    if (signal.reason instanceof Error) return
    progress.faults.push(await system.injectFault(random))
  }
}

const alterRow = (folder: string): string => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(import.meta.dirname, 'alter-row.ts'), folder], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`the row was not altered:\n${stderr}`)
  return stdout.trim()
}

const clientOf = (system: AuditedSystem): Client => {
  const caller = system.caller()
  if (caller === null) throw new Error('no system runs')
  return caller.client
}

/** Open an audit on a fresh folder, with a system that runs and a world in it. */
export const openAudit = async (options: AuditOptions, observe: Observer): Promise<Audit> => {
  const folder = dataFolder()
  const journalFile = join(folder, '..', 'ledger.ndjson')
  const { isDistributed, kills, connections, records, locations, seed, without } = options
  let { isDataRetained: isKept } = options
  const has = (kind: Kind): boolean => !without.has(kind)
  const hasRepricing = has('repricing')
  await using opening = new AsyncDisposableStack()
  opening.defer(() => {
    if (!isKept) removeData(folder)
  })
  const system = opening.use(isDistributed ? await distributedSystem(folder) : embeddedSystem(folder))
  const random = seeded(seed)
  const progress = { records: 0, changes: 0, leftOut: 0, refused: [] as string[], faults: [] as string[] }
  const planned = planFixture(random, locations, { hasLatePrices: hasRepricing })
  const fixture = await createFixture(await system.start(), planned, done => observe('world', done, locations))

  const load = async (): Promise<void> => {
    await using journal = await openJournal<AuditEntry>(journalFile)
    const steps = planSteps(random, fixture, {
      records,
      hasRepricing,
      hasEstimates: has('estimates'),
      hasRegisters: has('registers'),
    })
    const total = steps.reduce((sum, step) => sum + sizeOf(step), 0)
    const sent = new AbortController()
    const progressTimer = setInterval(() => observe('load', progress.records, total), 200)
    const failed = (error: unknown): never => {
      sent.abort(error)
      throw error
    }
    const killing = injectFaultsWhileSending({ system, random, progress, kills, total, signal: sent.signal }).catch(
      failed,
    )
    const wholeMs = isDistributed ? kills * minMsPerFault : 0
    const isAhead = (): boolean =>
      isDistributed && kills > 0 && progress.records > (total * (progress.faults.length + 1)) / kills
    const turn = async (size: number): Promise<void> => {
      await sleep((connections * wholeMs * size) / total)
      while (isAhead() && !sent.signal.aborted) await sleep(20)
    }
    const sending = sendSteps({ system, journal, connections, progress, waitForTurn: turn }, steps).then(
      () => sent.abort('all is sent'),
      failed,
    )
    await Promise.all([sending, killing]).finally(() => clearInterval(progressTimer))
    observe('load', progress.records, total)
    // A deleted location is never priced again: where changes alter costs, these must have settled before.
    if (!hasRepricing) await deleteSomeLocations(clientOf(system), fixture)
  }

  const open = opening.move()
  return {
    ...{ folder, journalFile, progress, load },
    verify: () =>
      verify({
        client: clientOf(system),
        deadLetters: () => listDeadLetters(system.sandbox()),
        failedStops: system.failedStops(),
        fixture,
        journalFile,
        hasRepricing,
        refused: progress.refused,
        observe,
      }),
    keepData: () => {
      isKept = true
    },
    alter: async () => {
      await system.stop()
      const id = alterRow(folder)
      await system.start()
      return id
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}
