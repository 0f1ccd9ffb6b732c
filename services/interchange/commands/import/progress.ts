import { basename } from 'node:path'
import type { CommandInput } from '../../../command-line/command.ts'

/** Shows the progress of an import on standard error: a line that changes on a terminal, else a line every 10 s. */
export type ImportProgress = {
  /** Add bytes that were read. */
  readonly addBytes: (bytes: number) => void
  /** Show the rows that are done and refused, at most a few times per second. */
  readonly show: (rows: number, refused: number) => void
  /** Show that the import waits for the service. */
  readonly wait: (reason: string) => void
  readonly end: () => void
}

const terminalMs = 200
const lineMs = 10_000

const timeText = (seconds: number): string => {
  if (seconds < 120) return `${Math.ceil(seconds)} s`
  return seconds < 7_200 ? `${Math.ceil(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`
}

/** Write progress as `long.csv 62 % 186,000 rows 41,000/s 3 s left 2 refused`. Times in ms. */
export const progressLine = (
  name: string,
  share: number | null,
  { rows, newRows, refused }: { readonly rows: number; readonly newRows: number; readonly refused: number },
  elapsedMs: number,
): string => {
  const rate = elapsedMs > 0 ? Math.round((newRows * 1000) / elapsedMs) : 0
  const isKnown = share !== null && share > 0 && rate > 0
  const left = isKnown ? ` ${timeText(((1 - share) * elapsedMs) / share / 1000)} left` : ''
  const percent = share === null ? '' : ` ${Math.floor(share * 100)} %`
  const refusedText = refused === 0 ? '' : ` ${refused.toLocaleString('en')} refused`
  return `${name}${percent} ${rows.toLocaleString('en')} rows ${rate.toLocaleString('en')}/s${left}${refusedText}`
}

/** Start the progress of a file of `bytes` bytes (null if unknown), of which `doneRows` rows are done. */
export const startProgress = (
  name: string,
  bytes: number | null,
  { write, isTerminal }: CommandInput['status'],
): ImportProgress => {
  const startedAt = performance.now()
  let readBytes = 0
  let shownAt = startedAt
  let firstRows: number | null = null
  let firstShare = 0
  let isShown = false
  let lastReason = ''
  const print = (text: string): void => {
    write(isTerminal ? `\r\u001b[2K${text}` : `${text}\n`)
    isShown = true
  }
  return {
    addBytes: more => {
      readBytes += more
    },
    show: (rows, refused) => {
      const share = bytes === null || bytes === 0 ? null : Math.min(readBytes / bytes, 1)
      if (firstRows === null) {
        firstRows = rows
        firstShare = share ?? 0
      }
      const now = performance.now()
      if (now - shownAt < (isTerminal ? terminalMs : lineMs)) return
      shownAt = now
      lastReason = ''
      const rest = share === null || firstShare >= 1 ? null : share
      print(progressLine(basename(name), rest, { rows, newRows: rows - firstRows, refused }, now - startedAt))
    },
    wait: reason => {
      if (reason !== lastReason) print(`${basename(name)} waits: ${reason}`)
      lastReason = reason
    },
    end: () => {
      if (isTerminal && isShown) write('\r\u001b[2K')
    },
  }
}
