/**
 * Play the corpus of hostile inputs against a running service, and print what each did to others. Exit codes: 0 every input keeps the promise,
 * 1 some miss it, 2 invalid arguments.
 */
import { parseArgs } from 'node:util'
import { corpus } from './corpus.ts'
import { exceptions } from './exceptions.ts'
import { fullEffort, shortEffort } from './measure.ts'
import { heading, line } from './report.ts'
import { openCorpusRun } from './run-corpus.ts'

const usage = `Play hostile inputs against a service of its own, with probes beside them.

  node test/hostile/run.ts [--only TEXT] [--short] [--no-growth] [--list]

  --only TEXT   inputs whose subject or name contains TEXT
  --short       the inputs of the suite alone
  --no-growth   without comparing the CPU time of half the size and the size
  --list        print the names and end
`

const options = {
  only: { type: 'string' },
  short: { type: 'boolean' },
  'no-growth': { type: 'boolean' },
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
      console.log(`${input.subject}: ${input.name}  MISS it could not be played: ${error instanceof Error ? error.message : error}`)
    }
  }
  for (const { input, what, bound, reason } of exceptions) console.log(`exception: ${input}: ${what} ${bound}: ${reason}`)
  console.log(`${inputs.length} inputs, ${missed} missed`)
  return missed
}

if (chosen.list === true) for (const { subject, name, size, unit } of inputs) console.log(`${subject}: ${name} (${size} ${unit})`)
else process.exitCode = (await play()) > 0 ? 1 : 0
