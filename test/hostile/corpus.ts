import type { HostileInput } from './input.ts'
import { bodies } from './inputs/bodies.ts'
import { connect } from './inputs/connect.ts'
import { numbers } from './inputs/numbers.ts'
import { paths } from './inputs/paths.ts'
import { reads } from './inputs/reads.ts'
import { records } from './inputs/records.ts'
import { tariffs } from './inputs/tariffs.ts'

/** Every input, by subject. */
export const corpus: readonly HostileInput[] = [...numbers, ...paths, ...bodies, ...tariffs, ...records, ...reads, ...connect]
