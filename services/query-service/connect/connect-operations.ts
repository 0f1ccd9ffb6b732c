import { connectStep } from '../../contract/connect/connect-call.ts'
import { sameRoute } from '../../contract/operation.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { importTariff } from './connect-batch.ts'
import { answerConnectCall } from './connect-call.ts'
import type { ConnectDependencies } from './connect-dependencies.ts'
import { connectTokenOperations } from './connect-tokens.ts'

/** Add the paths that the operator configured to the routes of the call, each with and without a slash at its end. */
const connectStepAt = (paths: readonly string[]): typeof connectStep => {
  const others = paths
    .flatMap(path => [path, `${path}/`])
    .filter(path => !connectStep.routes.current.some(route => route.path === path))
  const otherRoutes = others.map(path => sameRoute('POST', path))
  const { current, earlier } = connectStep.routes
  return {
    ...connectStep,
    routes: {
      current: [...current, ...otherRoutes.flatMap(routes => routes.current)],
      earlier: [...earlier, ...otherRoutes.flatMap(routes => routes.earlier)],
    },
  }
}

/** Bind the operations of Connect. */
export const connectOperations = (dependencies: ConnectDependencies): readonly Binding[] => [
  ...connectTokenOperations(dependencies),
  importTariff(dependencies),
  bind(connectStepAt(dependencies.connectPaths), answerConnectCall(dependencies)),
]
