import type { AddedOperations } from '../../contract/openapi/operations.ts'
import { providerList } from '../../contract/registry/provider.ts'
import { connectBatchImport } from './connect-batch.ts'
import { connectStep } from './connect-call.ts'
import { connectSessionRetrieve, connectTokenCreate, connectTokenRetrieve } from './connect-session.ts'

/** Operations of Connect, for the API documents. */
export const connectOperations: AddedOperations = {
  after: providerList,
  operations: [connectTokenCreate, connectTokenRetrieve, connectSessionRetrieve, connectBatchImport, connectStep],
}
