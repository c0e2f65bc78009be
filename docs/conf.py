"""How Sphinx builds the site: ``make docs``. Nothing is fetched, and the built pages load nothing from elsewhere."""

import os
import sys
from importlib.metadata import distribution
from pathlib import Path

import minmin

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

project = "minmin"
author = "The minmin developers"
copyright = "the minmin developers. BSD-3-Clause"  # noqa: A001 (Sphinx reads this name)
version = release = minmin.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "myst_parser",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "docstrings",
    "repairs",
]
exclude_patterns = ["_build", "**/sg_execution_times.rst", "sg_execution_times.rst"]
templates_path = ["_templates"]

# Every reference of our own must resolve. Types of others have no page here, since there is no network to look them up.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!minmin\.).*"), ("py:.*", r"minmin\.\w+\.(?:\w+\.)+\w+")]

myst_enable_extensions = ["dollarmath", "deflist", "attrs_inline"]
myst_heading_anchors = 3
myst_dmath_double_inline = True

autosummary_generate = True
autosummary_filename_map = {"minmin.theory.rate": "minmin.theory.rate-function"}  # not minmin.theory.Rate
autodoc_inherit_docstrings = False
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
maximum_signature_line_length = 80
python_use_unqualified_type_names = True
highlight_language = "none"  # of blocks without one: commands, formulas, what is printed
add_module_names = False
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

_mathjax = distribution("sphinx-mathjax-offline").locate_file("sphinx-mathjax-offline/static/mathjax/tex-svg-full.js")
mathjax_path = "tex-svg-full.js"
mathjax3_config = {"options": {"enableMenu": False}}

html_theme = "pydata_sphinx_theme"
html_title = "minmin"
html_static_path = ["_static", str(_mathjax)]
html_css_files = ["minmin.css"]
html_js_files = ["minmin.js"]
html_show_sourcelink = False
html_copy_source = False
html_context = {"default_mode": "auto"}
html_sidebars = {page.stem: [] for page in HERE.glob("*.md")}  # pages without others beside them
html_theme_options = {
    "logo": {"text": "minmin"},
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": [],
}

DATA = Path(os.environ.get("MINMIN_DATA", HERE.parents[1] / "shared" / "data")).resolve()
if DATA.is_dir():
    os.environ["MINMIN_DATA"] = str(DATA)
else:
    tags.add("without_data")  # noqa: F821 (Sphinx puts this name here)

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"(^|[\\/])_",  # modules that scripts share
    "plot_gallery": DATA.is_dir(),
    "abort_on_example_error": True,
    "capture_repr": (),
    "download_all_examples": False,
    "min_reported_time": sys.maxsize,
    "notebook_extensions": set(),
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "within_subsection_order": "FileNameSortKey",
}
