import { connectOperations } from './connect/contract/operations.ts'
import { addOperations, coreOperations } from './contract/openapi/operations.ts'
import type { Operation } from './contract/operation.ts'
import { interchangeOperations } from './interchange/contract/operations.ts'

/** Every operation of the API, in the order of the reference page. A wing adds its operations in one line. */
export const operations: readonly Operation[] = addOperations(coreOperations, [
  connectOperations,
  interchangeOperations,
])

/**
 * Return all operations of the API for its documents. An operation that this process serves replaces the operation with its
 * id, because settings can change its path.
 */
export const documentedOperations = (served: readonly Operation[]): readonly Operation[] => {
  const byId = new Map(served.map(operation => [operation.id, operation]))
  return operations.map(operation => byId.get(operation.id) ?? operation)
}
