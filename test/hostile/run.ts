/**
 * Play the corpus of hostile inputs against a running service, and print what each did to others. Exit codes: 0 every input keeps the promise,
 * 1 some miss it, 2 invalid arguments.
 */
import { parseArgs } from 'node:util'
import { closeOnSignals } from '../bench/interrupted.ts'
import { corpus } from './corpus.ts'
import { exceptions } from './exceptions.ts'
import { fairShareInputs, measureShare } from './fair-share.ts'
import { fullEffort, shortEffort } from './measure.ts'
import { heading, line } from './report.ts'
import { openBench, openCorpusRun } from './run-corpus.ts'
import { openTarget } from './target.ts'

const usage = `Play hostile inputs against a service of its own, with probes beside them.

  npm run hostile -- [--only TEXT] [--short] [--no-growth] [--shares] [--list]

  --only TEXT   inputs whose subject or name contains TEXT
  --short       the inputs of the suite alone
  --no-growth   without comparing the CPU time of half the size and the size
  --shares      only what another account waits while one does as much as it may
  --list        print the names and end
`

const options = {
  only: { type: 'string' },
  short: { type: 'boolean' },
  'no-growth': { type: 'boolean' },
  shares: { type: 'boolean' },
  list: { type: 'boolean' },
} as const

const readArguments = () => {
  try {
    return parseArgs({ options }).values
  } catch {
    process.stderr.write(usage)
    return process.exit(2)
  }
}

/** Length of each look at a share, in ms. */
const shareMs = 5_000

const chosen = readArguments()
const inputs = corpus
  .filter(({ isShort }) => chosen.short !== true || isShort === true)
  .filter(({ subject, name }) => `${subject}: ${name}`.includes(chosen.only ?? ''))

const play = async (): Promise<number> => {
  const effort = { ...fullEffort, ...(chosen['no-growth'] === true ? { comparisons: shortEffort.comparisons } : {}) }
  await using run = await openCorpusRun(effort)
  let missed = 0
  console.log(heading())
  for (const input of inputs) {
    try {
      const { measured, verdict } = await run.play(input)
      if (verdict.misses.length > 0) missed += 1
      console.log(line(measured, verdict))
    } catch (error) {
      missed += 1
      console.log(
        `${input.subject}: ${input.name}  MISS it could not be played: ${error instanceof Error ? error.message : error}`,
      )
    }
  }
  for (const { input, what, bound, reason } of exceptions)
    console.log(`exception: ${input}: ${what} ${bound}: ${reason}`)
  console.log(`${inputs.length} inputs, ${missed} missed`)
  return missed
}

/** Print how long another account waits beside each kind of work that an account may have done; returns how many miss. */
const playShares = async (): Promise<number> => {
  await using bench = await openBench(openTarget)
  let missed = 0
  for (const input of fairShareInputs) {
    const share = await measureShare(bench.target, bench.probe, input, shareMs)
    const kinds = Object.entries(share.p99Ms).map(
      ([kind, [rest, beside]]) => `${kind} ${rest.toFixed(0)} -> ${beside.toFixed(0)} ms`,
    )
    const [restLag, lag] = share.lagMs
    const end = share.misses.length === 0 ? 'ok' : `MISS ${share.misses.join('; ')}`
    console.log(
      `share: ${share.name}: p99 ${kinds.join(', ')}; visible ${restLag.toFixed(0)} -> ${lag.toFixed(0)} ms  ${end}${share.isMachineBusy ? ' *' : ''}`,
    )
    if (share.misses.length > 0) missed += 1
  }
  return missed
}

const run = async (): Promise<number> => {
  const missed = chosen.shares === true ? 0 : await play()
  return missed + (chosen.only === undefined && chosen.short !== true ? await playShares() : 0)
}

closeOnSignals()
if (chosen.list === true)
  for (const { subject, name, size, unit } of inputs) console.log(`${subject}: ${name} (${size} ${unit})`)
else process.exitCode = (await run()) > 0 ? 1 : 0
