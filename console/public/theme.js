// Runs before the styles so that the page never flashes in the other theme.
{
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    let chosen;
    try {
      chosen = JSON.parse(localStorage.getItem("rollcall.console") ?? "{}").theme;
    } catch {}
    document.documentElement.dataset.theme =
      chosen === "light" || chosen === "dark" ? chosen : system.matches ? "dark" : "light";
  };
  apply();
  system.addEventListener("change", apply);
  addEventListener("storage", apply);
  addEventListener("rollcall:theme", apply);
}
