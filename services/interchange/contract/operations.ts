import type { AddedOperations } from '../../contract/openapi/operations.ts'
import { tariffCreate } from '../../contract/tariffs/tariff.ts'
import { tariffImport } from './tariff-import.ts'

/** Operations of interchange, for the API documents. */
export const interchangeOperations: AddedOperations = { after: tariffCreate, operations: [tariffImport] }
