import { createAdmission } from '../http/admission.ts';
import { type FailureBudgets, createFailureBudgets } from '../http/admission-addresses.ts';
import { followTurns } from '../http/admission-turns.ts';
import type { ReportCallback } from '../observe/report.ts';
import { type Pipeline, createPipeline } from '../pipeline/pipeline.ts';
import type { PipelineParts } from '../pipeline/steps.ts';
import type { Settings } from '../settings/schema.ts';
import type { Runtime } from './runtime.ts';

/** The pipeline behind its bounds. */
export interface AdmittingPipeline extends Pipeline {
  readonly budgets: FailureBudgets;
  readonly stop: () => void;
}

export function admittingPipeline(
  { answerTimeoutMs, public: { limits } }: Settings,
  { report, tally }: Runtime,
  parts: Omit<PipelineParts, 'report' | 'answerTimeoutMs' | 'outputs'>,
): AdmittingPipeline {
  const nowMs = (): number => performance.now();
  const { callbacks, failuresPerSecond, outputs } = limits;
  const budgets = createFailureBudgets({ failuresPerSecond, nowMs });
  const turns = followTurns(nowMs, answerTimeoutMs);
  const admission = createAdmission({
    pipeline: createPipeline({ ...parts, answerTimeoutMs, outputs, report: reporting(report, budgets) }),
    callbacks,
    answerTimeoutMs,
    turns,
    budgets,
    answerFormat: parts.answerFormat,
    turnedAway: (turned) => tally.turnedAway(turned),
  });
  return { ...admission, budgets, stop: () => turns.stop() };
}

/** What was turned away for the load says nothing about its sender, and has been counted as what it is. */
function reporting(report: ReportCallback, budgets: FailureBudgets): ReportCallback {
  return (reported) => {
    if (reported.code === 'OVERLOADED') return;
    budgets.reported(reported);
    report(reported);
  };
}
