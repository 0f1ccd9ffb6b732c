import type { Random } from '../random.ts'
import type { Client } from '../system/client.ts'
import { audit, type Verdict } from './audit.ts'
import { makeLocation } from './fleet.ts'
import { type LedgerLocation, openJournal, readJournal } from './journal.ts'
import { createSubmitters, type Submitters, type Target } from './submitter.ts'

/** Size of the load of a ledger. */
export type LedgerSize = {
  readonly locations: number
  readonly maxRecords?: number
  readonly maxTotalRecords?: number
  readonly maxPauseMs?: number
}

export type LedgerOptions = LedgerSize & {
  /** Path of the journal. */
  readonly file: string
  readonly random: Random
  readonly target: Target
}

/** A client that records its requests in a journal and compares the stored data with the journal. */
export type Ledger = AsyncDisposable &
  Submitters & {
    readonly locations: readonly LedgerLocation[]
    readonly audit: (client: Client) => Promise<Verdict>
  }

/** Open a ledger with a new journal file. Create its locations and the submitters to `target`. */
export const openLedger = async (options: LedgerOptions): Promise<Ledger> => {
  const { file, random, target, maxRecords = 100, maxTotalRecords = Number.POSITIVE_INFINITY, maxPauseMs = 0 } = options
  if (readJournal(file).length > 0) throw new Error(`${file} contains a journal already.`)
  const client = target()
  if (client === null) throw new Error('The service must run before a ledger is opened.')
  const journal = await openJournal(file)
  const locations: LedgerLocation[] = []
  for (let index = 0; index < options.locations; index += 1) {
    const location = await makeLocation(client, random)
    locations.push(location)
    await journal.write(location)
  }
  const submitters = createSubmitters({ journal, target, random, locations, maxRecords, maxTotalRecords, maxPauseMs })
  return {
    ...submitters,
    locations,
    audit: async of => audit(file, of),
    [Symbol.asyncDispose]: () => journal[Symbol.asyncDispose](),
  }
}
