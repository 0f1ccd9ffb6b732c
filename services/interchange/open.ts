import { emptyRoleModule, type RoleModule } from '../platform/role-module.ts'
import type { WingDependencies } from '../query-service/open.ts'
import { tariffImportOperation } from './service/import-tariffs.ts'

/** Open the wing of interchange: the import of tariff files. */
export const openInterchangeWing = (dependencies: WingDependencies): RoleModule => ({
  ...emptyRoleModule,
  operations: [tariffImportOperation(dependencies)],
})
