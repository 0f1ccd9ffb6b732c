import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../../../services/platform/log/log.ts'
import { type LogLedger, writeUntil } from './log-ledger.ts'

/** Number of rounds of each fault. WATTLEDGER_TEST_FAULT_ROUNDS sets a longer run. */
export const rounds = Number(process.env['WATTLEDGER_TEST_FAULT_ROUNDS'] ?? 1)

/** Number of partitions with writers. */
export const partitions = 4

/** Write before, during and after the rounds of a fault. */
export const writeDuring = async (log: Log, fault: () => Promise<void>): Promise<LogLedger> => {
  const stop = new AbortController()
  const written = writeUntil(log, partitions, 3, stop.signal)
  await sleep(700)
  for (let round = 0; round < rounds; round += 1) await fault()
  await sleep(1_000)
  stop.abort()
  return await written
}

/** Print the results of the writers. */
export const printLedger = (title: string, { acknowledged, refused, longestPauseMs }: LogLedger): void => {
  const pause = Math.round(longestPauseMs)
  process.stdout.write(`${title}: ${acknowledged.size} acknowledged, ${refused} refused, longest pause ${pause} ms\n`)
}
