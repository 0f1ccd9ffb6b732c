import { parseArgs } from 'node:util'
import { closeOnSignals } from '../support/system/close-with-run.ts'
import { corpus } from './corpus.ts'
import { exceptions } from './exceptions.ts'
import { fairShareInputs, measureShare } from './fair-share.ts'
import { fullEffort, shortEffort } from './measure.ts'
import { heading, line } from './report.ts'
import { openCorpusRun, openSetup } from './run-corpus.ts'
import { openTarget } from './target.ts'

const usage = `Sends hostile inputs to a new service, and measures how long other requests wait meanwhile.

  npm run hostile -- [--only TEXT] [--short] [--no-growth] [--shares] [--list]

  --only TEXT   only inputs whose subject or name contains TEXT
  --short       only the inputs of the test suite
  --no-growth   do not compare the CPU time of half the size and the size
  --shares      only measure the waits of another account during permitted work
  --list        print the names of the inputs and exit

Exit codes: 0 all inputs keep the promise, 1 an input misses the promise, 2 invalid arguments.
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

/** Length of each measurement of a share, in ms. */
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
      console.log(`${input.subject}: ${input.name}  MISS failed: ${error instanceof Error ? error.message : error}`)
    }
  }
  for (const { input, kind, bound, reason } of exceptions)
    console.log(`exception: ${input}: ${kind} ${bound}: ${reason}`)
  console.log(`${inputs.length} inputs, ${missed} missed`)
  return missed
}

/** Measure and print the waits of another account during permitted work. Returns the number of misses. */
const playShares = async (): Promise<number> => {
  await using setup = await openSetup(openTarget)
  let missed = 0
  for (const input of fairShareInputs) {
    const share = await measureShare(setup.target, setup.probe, input, shareMs)
    const kinds = Object.entries(share.p99Ms).map(
      ([kind, [rest, during]]) => `${kind} ${rest.toFixed(0)} -> ${during.toFixed(0)} ms`,
    )
    const [restLag, lag] = share.lagMs
    const end = share.misses.length === 0 ? 'ok' : `MISS ${share.misses.join('; ')}`
    const visible = `visible ${restLag.toFixed(0)} -> ${lag.toFixed(0)} ms`
    console.log(`share: ${share.name}: p99 ${kinds.join(', ')}; ${visible}  ${end}${share.isMachineBusy ? ' *' : ''}`)
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
