export const QUIRK_DECISIONS: {
  cases: string[];
  reference: string;
  choice: string;
  why: string;
}[] = [];
export const API_DECISIONS: { place: string; reference: string; sluice: string }[] = [];
