import { randomInt } from 'node:crypto'

const variable = 'RUN_SEED'

/** Choose the seed of a test run, unless `RUN_SEED` gives it. Each run has another one. */
export const chooseRunSeed = (): string => (process.env[variable] ??= String(randomInt(2 ** 31)))

/** Return the seed of the random choices of this test run. */
export const runSeed = (): number => Number(chooseRunSeed())
