import * as instantCost from '../../services/contract/costs/instant-cost.ts'
import * as meterBatch from '../../services/contract/metering/meter-batch.ts'
import * as meterCumulative from '../../services/contract/metering/meter-cumulative.ts'
import * as meterImport from '../../services/contract/metering/meter-import.ts'
import type { Operation } from '../../services/contract/operation.ts'
import { operations } from '../../services/operations.ts'
import { read } from './deploy-files.ts'

const declared: Readonly<Record<string, unknown>> = {
  ...instantCost,
  ...meterBatch,
  ...meterCumulative,
  ...meterImport,
}

/** The operations that the gateway binds, by its own source. */
export const gatewayOperations = (): readonly Operation[] =>
  [...read('services/ingest-gateway/operations.ts').matchAll(/\bbind\(\s*(\w+)/g)].map(([, name = '']) => {
    const operation = operations.find(one => one === declared[name])
    if (operation === undefined) throw new Error(`${name} is not an operation of the API`)
    return operation
  })

/** The forms of a path that a front server must know: a trailing slash is the same path. */
export const formsOf = (paths: readonly string[]): readonly string[] => paths.flatMap(path => [path, `${path}/`])

/** Paths of operations, in both API versions. */
export const pathsOf = (some: readonly Operation[]): readonly string[] => [
  ...new Set(some.flatMap(({ routes }) => [...routes.current, ...routes.earlier].map(({ path }) => path))),
]
