import { existsSync, readFileSync } from 'node:fs'
import { open } from 'node:fs/promises'

/** A location and its total prices per kWh, as texts. The bands start at minutes of the local day and cover the day. */
export type LedgerLocation = {
  readonly kind: 'location'
  readonly locationId: string
  readonly deviceId: string
  /** Offset of the time zone from UTC, in minutes, all year. */
  readonly offsetMinutes: number
  readonly bands: readonly { readonly fromMinute: number; readonly price: string }[]
}

/** A submitted record. `isValid`: the service must accept it. `deviceId` null: a record of the location itself. */
export type LedgerRecord = {
  readonly locationId: string
  readonly deviceId: string | null
  readonly start: number
  readonly end: number
  readonly units: 'W' | 'KW' | 'WH' | 'KWH'
  readonly value: string
  readonly sessionReferenceId: string | null
  readonly recordReferenceId: string
  readonly isValid: boolean
  /** If both directions are absent, they are INBOUND and IMPORT. */
  readonly energyFlowDirection?: 'INBOUND' | 'OUTBOUND'
  readonly tariffDirection?: 'IMPORT' | 'EXPORT' | 'LOCAL'
  /** Absent for a measured record. */
  readonly confidence?: string
}

/** Result of a request: accepted, refused, or unknown. */
export type Outcome = 'ok' | 'failed' | 'unknown'

/** Batch id of an answer, and its counts of records. */
export type LedgerReceipt = {
  readonly batchId: string
  readonly recordsSubmitted: number
  readonly recordsAccepted: number
  readonly failedNumbers: readonly number[]
}

/**
 * Entry of a journal. A submission is one operation with one or more attempts.
 * The client writes `submission` before the first attempt, `sent` before each attempt and `answered` after each
 * attempt.
 * The result of an attempt without `answered` is unknown.
 */
export type JournalEntry =
  | LedgerLocation
  | { readonly kind: 'submission'; readonly operation: number; readonly records: readonly LedgerRecord[] }
  | { readonly kind: 'sent'; readonly operation: number; readonly attempt: number }
  | {
      readonly kind: 'answered'
      readonly operation: number
      readonly attempt: number
      readonly outcome: Outcome
      readonly status: number | null
      readonly receipt: LedgerReceipt | null
    }

/** Journal of the client. Its entries survive a crash of the client. */
export type Journal<Entry = JournalEntry> = AsyncDisposable & {
  /** Resolves when the entries are on disk. */
  readonly write: (...entries: readonly Entry[]) => Promise<void>
}

/** Open a journal for appending. Concurrent writes share a sync. */
export const openJournal = async <Entry = JournalEntry>(file: string): Promise<Journal<Entry>> => {
  const handle = await open(file, 'a')
  let waiting = ''
  let next: Promise<void> | null = null
  let last: Promise<void> = Promise.resolve()
  const flush = async (): Promise<void> => {
    const text = waiting
    waiting = ''
    next = null
    await handle.write(text)
    await handle.datasync()
  }
  return {
    write: (...entries) => {
      waiting += entries.map(entry => `${JSON.stringify(entry)}\n`).join('')
      if (next === null) {
        next = last.then(flush)
        last = next
      }
      return next
    },
    [Symbol.asyncDispose]: async () => {
      await last
      await handle.close()
    },
  }
}

/** Read a journal. A last line without an end was interrupted by a crash and is ignored. */
export const readJournal = <Entry = JournalEntry>(file: string): readonly Entry[] => {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.slice(0, -1).map(line => JSON.parse(line) as Entry)
}
